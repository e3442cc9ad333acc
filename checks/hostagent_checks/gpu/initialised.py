"""The driver knows the GPU but never brought it up: /proc shows its UUID as question marks, and NVML lacks it.

A GPU that nobody used since the module was loaded shows question marks too; so NVML, which starts every GPU, decides.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.gpu import Gpu


@check(
    title="The GPU could be initialised",
    severity="critical",
    since="0.1",
    because=("gpu.on_bus", "gpu.init_failed", "driver.open_supported", "driver.gsp_firmware"),
    headline="{device} was never initialised",
    remedy=(Step("power_cycle", "Switch the chassis off and on. A GPU older than Turing needs the proprietary module."),),
    references=("NVIDIA Driver README, chapter The /proc Interface", "open-gpu-kernel-modules issues 789, 862, 1104"),
    confirm=(
        "cat /proc/driver/nvidia/gpus/<address>/information  # 'GPU-????????'",
        "journalctl -k -g NVRM",
    ),
)
def initialised(gpu: Gpu) -> Findings:
    uuid = need(gpu.proc_uuid)
    if "?" in uuid and not need(gpu.in_nvml):
        yield fail("the GPU was never initialised", code="never", found=uuid, wanted="a UUID")
