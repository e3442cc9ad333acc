"""Slurm: a node's drain reason, and the gates before and after its jobs."""
