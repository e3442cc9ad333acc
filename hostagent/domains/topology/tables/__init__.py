"""Classes of distance."""
