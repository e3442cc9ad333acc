"""The driver knows the GPU but never brought it up: /proc shows its UUID as question marks, and NVML lacks it.

A GPU that nobody used since the module was loaded shows question marks too; so NVML, which starts every GPU, decides.
"""

from hostagent.check import Findings, Unread, check, fail, need
from hostagent.core.tables.recovery_actions import POWER_CYCLE, REPLACE_IF_BACK
from hostagent.domains.gpu.start_cause import bar_cause, named_in_log
from hostagent.facts.gpu import Gpu, GpuEvents
from hostagent.facts.kernel_words import KernelWords
from hostagent.facts.platform import Platform


@check(
    title="The driver initialised the GPU",
    severity="critical",
    since="0.1",
    explains=("gpu",),
    because=("gpu.on_bus", "gpu.drained", "gpu.init_failed", "driver.open_supported", "driver.gsp_firmware"),
    headline="The driver never initialised {device}",
    remedy=(POWER_CYCLE, REPLACE_IF_BACK),
    references=("NVIDIA Driver README, chapter The /proc Interface", "open-gpu-kernel-modules issues 789, 862, 1104"),
    confirm=(
        "cat /proc/driver/nvidia/gpus/<address>/information  # 'GPU-????????'",
        "journalctl -k -g NVRM",
    ),
)
def initialised(
    gpu: Gpu, gpus: tuple[Gpu, ...], platform: Platform | Unread, events: GpuEvents | Unread, words: KernelWords | Unread
) -> Findings:
    uuid = need(gpu.proc_uuid)
    if "?" in uuid and not need(gpu.in_nvml):
        text, cause = (
            "/proc shows question marks as its UUID, and NVML does not list it",
            bar_cause(gpu, gpus, platform, named_in_log(events, words)),
        )
        if cause is None:
            yield fail(text, code="never", found=uuid, wanted="a UUID")
        else:
            yield fail(f"{text}; {cause.text}", code=cause.code, found=uuid, wanted="a UUID", headline=cause.headline, remedy=cause.remedy)
