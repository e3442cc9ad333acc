"""The answer of ``hostagent topology``: what a host is made of, and what its kubelet makes of some pods. Pure."""
