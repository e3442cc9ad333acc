"""Slurm: its clients, and the texts that hostagent writes to a node; in programs/ what slurmd runs on a node."""
