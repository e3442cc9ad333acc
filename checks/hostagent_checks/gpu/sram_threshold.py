"""The GPU's on-chip memory had more uncorrectable errors than NVIDIA tolerates: the GPU must be replaced.

SRAM has no spare rows. The flag can be set while all error totals read 0.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.gpu import Gpu


@check(
    title="The GPU's SRAM errors are below NVIDIA's threshold",
    severity="critical",
    since="0.1",
    headline="{device} has too many SRAM errors",
    remedy=(Step("replace", "Have the GPU replaced."),),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetSramEccErrorStatus",),
    confirm=("nvidia-smi -q -i <address> -d ECC  # 'SRAM Threshold Exceeded: Yes'",),
)
def sram_threshold(gpu: Gpu) -> Findings:
    if need(need(gpu.ecc).sram_threshold_exceeded):
        yield fail("SRAM errors exceed NVIDIA's threshold", code="exceeded", found="exceeded", wanted="below")
