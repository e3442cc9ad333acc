"""A cluster to try on one machine: a real control plane, simulated kubelets, real agents over recorded hosts (docs/demo-cluster.md)."""
