"""The Slurm node that the host is, by slurmd's own files."""
