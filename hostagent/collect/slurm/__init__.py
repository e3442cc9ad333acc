"""Slurm on this node: what slurm.conf and gres.conf say of it."""
