"""The kubelet: its effective configuration, its allocations, and pod admission."""
