"""Distributions that NVIDIA publishes packages for."""
