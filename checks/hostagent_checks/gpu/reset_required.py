"""The driver has taken the GPU out of use until it is reset: no program can start on it."""

from hostagent.check import Findings, check, fail, need
from hostagent.core.tables.recovery_actions import RESET
from hostagent.facts.gpu import Gpu


@check(
    title="The GPU needs no reset",
    severity="critical",
    since="0.1",
    explains=("gpu",),
    because=("gpu.on_bus", "gpu.lost", "gpu.xid"),
    headline="{device} is out of use until it is reset",
    remedy=(RESET,),
    references=("NVIDIA NVML API Reference, NVML_ERROR_RESET_REQUIRED (16)",),
    confirm=(
        "nvidia-smi -i <address>",
        "journalctl -k -g Xid",
    ),
)
def reset_required(gpu: Gpu) -> Findings:
    if need(gpu.reset_required):
        detail = gpu.nvml_detail if isinstance(gpu.nvml_detail, str) else ""
        yield fail(
            'NVML error 16, "reset required"', code="reset", found="reset required", wanted="none", evidence=(detail,) if detail else ()
        )
