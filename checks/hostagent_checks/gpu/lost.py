"""NVML reports that the GPU is lost: the driver no longer reaches it.

One call that says so is enough. A lost GPU may go on answering its name and its UUID, so tools still list it.
"""

from hostagent.check import Findings, Unread, check, fail, need
from hostagent.core.tables.recovery_actions import LOST
from hostagent.facts.gpu import Gpu, GpuEvents

from ._xids import ladder_of


@check(
    title="NVML reaches the GPU",
    severity="critical",
    since="0.1",
    explains=("gpu",),
    because=("gpu.on_bus", "gpu.xid"),
    order=23,  # before kernel and driver, whose findings may follow from it
    headline="NVML cannot reach {device}: GPU is lost",
    remedy=LOST,
    references=("NVIDIA NVML API Reference, NVML_ERROR_GPU_IS_LOST (15)",),
    confirm=(
        "nvidia-smi -i <address>  # 'GPU is lost'",
        "lspci -s <address>  # '(rev ff)' if it no longer answers",
        "journalctl -k -g Xid",
    ),
)
def lost(gpu: Gpu, events: GpuEvents | Unread) -> Findings:
    if need(gpu.lost):
        detail = gpu.nvml_detail if isinstance(gpu.nvml_detail, str) else ""
        silent = next((one for one in (gpu.temperature_celsius, gpu.memory_bytes, gpu.row_remap) if isinstance(one, Unread)), "")
        yield fail(
            'NVML error 15, "GPU is lost"',
            code="lost",
            found="lost",
            wanted="answering",
            evidence=(detail,) if detail else (),
            about=silent,
            remedy=ladder_of(gpu.pci, events),
        )
