"""Slurm on this node: what slurmd reads of slurm.conf and gres.conf."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread


@frozen
class Gres:
    """A line of gres.conf that is about this node and names a resource (gres.conf(5))."""

    name: str  # gpu, mps, shard, craynetwork
    type: str  # as it is written, "" for none
    count: int  # as it is written, 0 where it is not
    files: tuple[str, ...]  # paths of File=, or of MultipleFiles=, in order
    in_parts: bool  # MultipleFiles=: several files are one device, as a slice of a GPU (MIG) has them


@frozen
class SlurmNode:
    """Where slurmd is in use or expected; elsewhere all of it is absent. The node is the one that has the host's own name."""

    conf: str | Unread  # path of the slurm.conf that slurmd reads; absent where there is none
    only_controls: bool | Unread  # slurm.conf calls this host a controller, and none of its nodes has the host's name
    expected: bool | Unread  # slurmd's unit is there and not enabled, slurm.conf has a node of the host's name, and no kubelet is in use
    configless: bool | Unread  # slurmd's options name a server of its files (--conf-server), or it has left copies of them
    health_program: str | Unread  # HealthCheckProgram, "" for none
    health_interval_s: int | Unread  # HealthCheckInterval, 0: it never runs
    health_is_ours: bool | Unread  # that file runs `hostagent slurm health`; absent where the file is not there
    gres: tuple[Gres, ...] | Unread  # absent without a gres.conf
    autodetect: str | Unread  # AutoDetect of this node, in small letters: nvml, nvidia, rsmi, off …; "" where it is not set
    missing_files: tuple[str, ...] | Unread  # files of the GPUs in `gres` that are not there, or no character devices
    munge_serves: bool | Unread  # munged runs, or a process listens on its socket; absent without its unit, or with another AuthType
