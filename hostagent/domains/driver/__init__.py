"""NVIDIA's driver: modules, libraries, packages, and how it was installed."""
