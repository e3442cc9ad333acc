"""Slurm: its clients and what hostagent writes to a node; below programs/ what slurmd runs on one."""
