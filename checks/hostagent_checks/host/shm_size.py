"""Shared memory (/dev/shm) is small: NCCL between the GPUs of one host, and data loaders, fail with "No space left on device" or SIGBUS.

Jobs that run on the host itself (Slurm) and pods with the host's IPC share this one; it is half of the memory unless
somebody sized it. A pod's own /dev/shm depends on its volume.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.host import Machine


class Params(NamedTuple):
    """min_bytes: bytes that /dev/shm must be able to hold"""

    min_bytes: int = 1024**3


@check(
    title="Shared memory (/dev/shm) is large enough for NCCL",
    severity="warning",
    since="0.1",
    headline="Shared memory (/dev/shm) is too small for NCCL",
    remedy=(Step("configure", "Remount it, and correct its size in /etc/fstab.", command="mount -o remount,size=50% /dev/shm"),),
    references=("NCCL documentation, troubleshooting: shared memory", "shm_overview(7)"),
    confirm=("df -h /dev/shm",),
)
def shm_size(machine: Machine, params: Params) -> Findings:
    size = need(machine.shm_bytes)
    if size < params.min_bytes:
        yield fail(f"shared memory has {size} bytes, wanted {params.min_bytes}", code="small", found=size, wanted=f">= {params.min_bytes}")
