"""The GPU's on-chip memory had more uncorrectable errors than NVIDIA tolerates: the GPU must be replaced.

SRAM has no spare rows. The flag can be set while all error totals read 0.
"""

from hostagent.check import Findings, check, fail, need
from hostagent.core.tables.recovery_actions import REPLACE
from hostagent.facts.gpu import Gpu


@check(
    title="The GPU has fewer SRAM errors than NVIDIA's limit",
    severity="critical",
    since="0.1",
    headline="{device} has too many SRAM errors",
    remedy=(REPLACE,),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetSramEccErrorStatus",),
    confirm=("nvidia-smi -q -i <address> -d ECC  # 'SRAM Threshold Exceeded: Yes'",),
)
def sram_threshold(gpu: Gpu) -> Findings:
    if need(need(gpu.ecc).sram_threshold_exceeded):
        yield fail("the GPU's SRAM errors exceeded NVIDIA's limit", code="exceeded", found="exceeded", wanted="below")
