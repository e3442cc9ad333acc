"""The kubelet: what it is configured to do, and what it has given away."""
