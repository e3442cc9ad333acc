"""The kubelet: its configuration as it computes it, what it has given away, whom it admits."""
