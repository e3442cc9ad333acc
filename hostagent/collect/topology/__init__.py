"""Topology and NICs by sysfs."""
