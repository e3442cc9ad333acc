"""The NVIDIA Container Toolkit."""
