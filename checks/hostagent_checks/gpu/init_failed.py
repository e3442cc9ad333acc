"""The driver could not initialise a GPU: tools say 'No devices were found', or show one GPU less.

GSP is the processor on the GPU that runs most of the driver. Its firmware file may be missing for this driver, it may
refuse to start, or an earlier crash left its protected memory (WPR2) locked, which only a power cycle clears. An open
module on a GPU older than Turing fails here too. A GPU that NVML has now all the same only warns, and not when the module was loaded
again since. Lines that name no GPU count for every GPU that NVIDIA's driver should have. Nouveau's lines do not count.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip, warn
from hostagent.core.tables.recovery_actions import POWER_CYCLE, REBOOT, REPLACE_IF_BACK
from hostagent.facts.gpu import Gpu, GpuEvents

_POWER = (POWER_CYCLE, REPLACE_IF_BACK)
_KINDS = {
    "adapter": ("the GPU could not be initialised (RmInitAdapter)", _POWER),
    "gsp": ("the GPU's GSP firmware did not start", _POWER),
    "wpr2": (
        "GSP memory is still locked by an earlier start (WPR2)",
        (Step("power_cycle", "Power the chassis off and on: a reboot may not clear it."),),
    ),
    "firmware": (
        "a firmware file could not be loaded",
        (
            Step("install", "Install the firmware package of the loaded driver's version."),
            Step("configure", "Rebuild the initramfs."),
            REBOOT,
        ),
    ),
}


@check(
    title="The driver initialised every GPU",
    severity="critical",
    since="0.1",
    because=("gpu.on_bus", "driver.open_supported", "driver.gsp_firmware"),
    headline="The driver could not initialise {device}",
    remedy=_POWER,
    references=("open-gpu-kernel-modules issues 639, 789, 862, 943, 1104, 1230",),
    confirm=(
        "journalctl -k -g 'NVRM'  # 'RmInitAdapter failed'",
        "nvidia-smi -L",
    ),
)
def init_failed(events: GpuEvents, gpus: tuple[Gpu, ...]) -> Findings:
    failures = need(events.init_failures)
    if not failures and not gpus:
        skip("this host has no NVIDIA GPU")
    working = {gpu.pci for gpu in gpus if gpu.in_nvml is True}
    if working and all(gpu.pci in working or _has_other_driver(gpu) for gpu in gpus):
        working.add("")
    for one in failures:
        if one.ended_by and one.pci in working:
            continue
        text, remedy = _KINDS.get(one.kind, _KINDS["adapter"])
        report = warn if one.pci in working else fail
        headline = "" if one.pci else "The driver could not initialise a GPU"
        yield report(
            text, code=one.kind, found=text, wanted="initialised", evidence=(one.line,), remedy=remedy, about=one.pci, headline=headline
        )


def _has_other_driver(gpu: Gpu) -> bool:
    return not isinstance(gpu.bound_to, Unread) and gpu.bound_to in ("vfio-pci", "nouveau")
