"""Memory of the GPU is in use, and no process has it: the next job gets less, or ends with 'out of memory'.

A job that was killed can leave it: a process that is stuck in the kernel, or an allocation that the driver did not take back. NVML counts
what the driver reserves for itself apart. NVML lists no process of the GPU, and no process of the host has the GPU's device node open: a
process in a container, whose id NVML does not list, has, as has one of MPS or a desktop. The driver's own daemons (persistence, fabric
manager, IMEX, DCGM as a service) hold the node and explain no memory. An exporter in a container holds the node, too: there the check finds
nothing.

It does not apply in a container and without the rights to see every process's files, to GPUs cut into slices, to GPUs of virtual machines
and of vGPUs, and to GPUs whose memory the kernel may use as its own (GH200, GB200).
"""

from typing import NamedTuple

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, need, size, skip, warn
from hostagent.core.tables.pci import is_coherent
from hostagent.core.tables.recovery_actions import REBOOT, RESET
from hostagent.core.tables.rights import is_hidden
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform

from ._judged import skip_of_virtual_machine

_GIB = 1024**3
_OF_GUESTS = ("vgpu", "host-vgpu", "host-vsga")


class Params(NamedTuple):
    """most_gib: memory in GiB that may be in use without a process"""

    most_gib: float = 1.0


@check(
    title="No memory of the GPU is in use without a process",
    severity="warning",
    since="0.1",
    because=("gpu.lost", "gpu.answers", "gpu.xid"),
    headline="{device} holds memory of no process",
    remedy=(
        Step("drain_and_inspect", "End what is left of the last job.", command="ps -eo pid,ppid,stat,wchan:32,comm"),
        RESET,
        REBOOT,
    ),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetMemoryInfo_v2", "microsoft/pai issue 3372"),
    confirm=(
        "nvidia-smi -i <address> --query-gpu=memory.used,memory.reserved,utilization.gpu --format=csv",
        "nvidia-smi -i <address> --query-compute-apps=pid,used_memory --format=csv",
        "fuser -v /dev/nvidia*",
    ),
)
def leftover_memory(gpu: Gpu, platform: Platform | Unread, params: Params) -> Findings:
    used = need(gpu.memory_used_bytes)
    if used < params.most_gib * _GIB or need(gpu.listed_processes):
        return
    _skip_others(gpu, need(platform))
    if is_hidden(gpu.node_holders):
        skip("which processes have the GPU's device node open cannot be seen with the rights of this run")
    if need(gpu.node_holders):
        return
    total = "" if isinstance(gpu.memory_bytes, Unread) else f" of {size(gpu.memory_bytes)}"
    text = f"{size(used)}{total} are in use, NVML lists no process, and none has /dev/nvidia{need(gpu.minor)} open"
    steps = (
        Step("drain_and_inspect", "End what is left of the last job: a process in state D or Z.", "ps -eo pid,ppid,stat,wchan:32,comm"),
        RESET,
        Step("reboot", "Reboot the node.", if_back=True),
    )
    yield warn(text, code="leftover", found=size(used), wanted=f"< {params.most_gib:g} GiB", remedy=steps)


def _skip_others(gpu: Gpu, platform: Platform) -> None:
    """GPUs and hosts where memory without a process is no leftover, or processes are not seen."""
    if need(platform.contained) or need(platform.virtual) == "container":
        skip("in a container the processes of the host are not seen")
    skip_of_virtual_machine(gpu)
    if is_coherent(need(gpu.device_id)):
        skip("the kernel may use this GPU's memory as its own")
    if _there(gpu.mig) and need(gpu.mig).current:
        skip("the GPU is cut into MIG slices")
    if _there(gpu.virtualization) and need(gpu.virtualization) in _OF_GUESTS:
        skip("memory of a vGPU is its guest's")


def _there(value: object) -> bool:
    return not (isinstance(value, Unread) and value.why in NOT_APPLICABLE)
