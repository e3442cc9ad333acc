"""Shared memory (/dev/shm) is too small: NCCL between the GPUs of one node, and data loaders, fail with "No space left
on device" or a bus error.

Jobs that run on the host itself (Slurm) and pods with the host's IPC share this one; it is half of the memory unless
somebody sized it. A pod's own /dev/shm is set in the pod: inside a container this is what jobs there have, and the usual 64 MiB are
not enough for the GPUs of one node.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, Unread, check, fail, need, size
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Storage
from hostagent.facts.platform import Platform

#: What container runtimes give where nobody asks for more.
_DEFAULT_BYTES = 64 * 1024**2
_IN_A_CONTAINER = (Step("contact_owner", "Give the pod an emptyDir of medium Memory at /dev/shm; docker takes --shm-size."),)


class Params(NamedTuple):
    """min_bytes: bytes that /dev/shm must be able to hold
    critical_gpus: GPUs of a container with 64 MiB from which on no job can start there
    """

    min_bytes: int = 1024**3
    critical_gpus: int = 4


@check(
    title="Shared memory (/dev/shm) is large enough for NCCL",
    severity="warning",
    since="0.1",
    explains=("shared-memory",),
    headline="Shared memory (/dev/shm) is too small for NCCL",
    remedy=(Step("configure", "Enlarge it now, and correct its size in /etc/fstab.", command="mount -o remount,size=50% /dev/shm"),),
    references=("NCCL documentation, troubleshooting: shared memory", "shm_overview(7)"),
    confirm=("df -h /dev/shm",),
)
def shm_size(storage: Storage, platform: Platform | Unread, gpus: tuple[Gpu, ...] | Unread, params: Params) -> Findings:
    total = need(storage.shm_bytes)
    if total < params.min_bytes:
        found, wanted = size(total), f">= {size(params.min_bytes)}"
        text = f"shared memory (/dev/shm) has {found}"
        if isinstance(platform, Unread) or not platform.in_container:
            yield fail(text, code="small", found=found, wanted=wanted)
            return
        is_hopeless = total <= _DEFAULT_BYTES and not isinstance(gpus, Unread) and len(gpus) >= params.critical_gpus
        yield fail(text, code="small", found=found, wanted=wanted, remedy=_IN_A_CONTAINER, at_least="critical" if is_hopeless else None)
