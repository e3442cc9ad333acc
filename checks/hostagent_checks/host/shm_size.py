"""Shared memory (/dev/shm) is too small: NCCL between the GPUs of one node, and data loaders, fail with "No space left
on device" or a bus error.

Jobs that run on the host itself (Slurm) and pods with the host's IPC share this one; it is half of the memory unless
somebody sized it. A pod's own /dev/shm is set in the pod.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, fail, need
from hostagent.derived.words import size
from hostagent.facts.host import Machine


class Params(NamedTuple):
    """min_bytes: bytes that /dev/shm must be able to hold"""

    min_bytes: int = 1024**3


@check(
    title="Shared memory (/dev/shm) is large enough for NCCL",
    severity="warning",
    since="0.1",
    headline="Shared memory (/dev/shm) is too small for NCCL",
    remedy=(Step("configure", "Enlarge it now, and correct its size in /etc/fstab.", command="mount -o remount,size=50% /dev/shm"),),
    references=("NCCL documentation, troubleshooting: shared memory", "shm_overview(7)"),
    confirm=("df -h /dev/shm",),
)
def shm_size(machine: Machine, params: Params) -> Findings:
    total = need(machine.shm_bytes)
    if total < params.min_bytes:
        found, wanted = size(total), f">= {size(params.min_bytes)}"
        yield fail(f"shared memory (/dev/shm) has {found}", code="small", found=found, wanted=wanted)
