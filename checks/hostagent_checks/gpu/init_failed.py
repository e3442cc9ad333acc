"""The driver could not initialise a GPU: tools say 'No devices were found', or show one GPU less.

GSP is the processor on the GPU that runs most of the driver. Its firmware file may be missing for this driver, it may
refuse to start, or an earlier crash left its protected memory (WPR2) locked, which only a power cycle clears. An open
module on a GPU older than Turing fails here too. A GPU that NVML has now all the same only warns, and not when the module was loaded
again since. Lines that name no GPU count for every GPU that NVIDIA's driver should have. Nouveau's lines do not count.

A BAR without an address, or memory below 4 GiB, is the firmware's fault (Above 4G decoding, Resizable BAR), not the GPU's. Either is
judged only of a GPU that did not start: many work with 256 MiB below 4 GiB.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip, warn
from hostagent.core.tables.recovery_actions import POWER_CYCLE, REBOOT, REPLACE_IF_BACK
from hostagent.domains.driver.boot import KERNELS_OWN, module_of
from hostagent.domains.gpu.start_cause import EMPTY, Cause, bar_cause, logged_cause, named_in_log
from hostagent.facts.gpu import Gpu, GpuEvents, InitFailure
from hostagent.facts.kernel_words import KernelWords
from hostagent.facts.platform import Platform

#: Modules that may have a GPU of a host where NVIDIA's driver has the others.
_OTHERS = ("vfio_pci", *KERNELS_OWN)
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
def init_failed(events: GpuEvents, gpus: tuple[Gpu, ...], platform: Platform | Unread, words: KernelWords | Unread) -> Findings:
    failures = need(events.init_failures)
    if not failures and not gpus:
        skip("this host has no NVIDIA GPU")
    working = {gpu.pci for gpu in gpus if gpu.in_nvml is True}
    if working and all(gpu.pci in working or _has_other_driver(gpu) for gpu in gpus):
        working.add("")
    for one in failures:
        if one.ended_by and one.pci in working:
            continue
        gpu = next((gpu for gpu in gpus if gpu.pci == one.pci), None)
        bar = bar_cause(gpu, gpus, platform, named_in_log(events, words)) if gpu else None
        cause = bar if bar and _explains(bar, one, failures) else logged_cause(one.pci, words)
        text, remedy = (cause.text, cause.remedy) if cause else _KINDS.get(one.kind, _KINDS["adapter"])
        report = warn if one.pci in working else fail
        headline = cause.headline if cause else "" if one.pci else "The driver could not initialise a GPU"
        code = cause.code if cause else one.kind
        yield report(
            text, code=code, found=text, wanted="initialised", evidence=(one.line,), remedy=remedy, about=one.pci, headline=headline
        )


def _explains(bar: Cause, one: InitFailure, failures: tuple[InitFailure, ...]) -> bool:
    """Memory below 4 GiB explains no failure of the GPU's own processor, and none of its firmware."""
    kinds = {failure.kind for failure in failures if failure.pci == one.pci}
    return one.kind != "firmware" and (bar.code == EMPTY or kinds == {"adapter"})


def _has_other_driver(gpu: Gpu) -> bool:
    return not isinstance(gpu.bound_to, Unread) and module_of(gpu) in _OTHERS
