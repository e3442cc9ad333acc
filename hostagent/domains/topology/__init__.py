"""NUMA nodes, PCI, and how far devices are from each other."""
