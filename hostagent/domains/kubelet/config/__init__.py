"""The effective KubeletConfiguration, as each version of the kubelet computes it."""
