"""The node as a worker of Slurm: whether slurmd and munged run, whether gres.conf offers the GPUs that are here, whether Slurm's health
check program looks at the node often enough.
"""

from hostagent.check import Family

FAMILY = Family(title="Slurm", order=88)
