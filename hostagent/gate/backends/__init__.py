"""Backends of the gate: candidates from files of reports, Kubernetes and Slurm."""
