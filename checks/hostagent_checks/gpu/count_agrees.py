"""PCI, the kernel module and NVML do not see the same GPU: one of them has lost it.

A GPU on PCI that the module's own list lacks was refused or failed at start. One that both have and NVML lacks could
not be initialised or was lost: every tool counts one GPU less, and indices shift.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.core.tables.recovery_actions import LOST
from hostagent.domains.gpu.start_cause import bar_cause, named_in_log
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu, GpuEvents
from hostagent.facts.kernel_words import KernelWords
from hostagent.facts.platform import Platform

from ._judged import skip_display_card, skip_of_virtual_machine


@check(
    title="PCI, the driver and NVML all list the GPU",
    severity="critical",
    since="0.1",
    because=("gpu.on_bus", "gpu.lost", "gpu.drained", "gpu.initialised", "gpu.init_failed", "gpu.bound"),
    headline="PCI, the driver and NVML disagree about {device}",
    remedy=LOST,
    references=("NVIDIA NVML API Reference, nvmlDeviceGetCount_v2", "NVIDIA Driver README, chapter The /proc Interface"),
    confirm=(
        "lspci -D -d 10de:",
        "ls /proc/driver/nvidia/gpus",
        "nvidia-smi --query-gpu=pci.bus_id,uuid --format=csv",
    ),
)
def count_agrees(
    gpu: Gpu, gpus: tuple[Gpu, ...], driver: Driver, platform: Platform | Unread, events: GpuEvents | Unread, words: KernelWords | Unread
) -> Findings:
    on_pci = need(gpu.on_pci)
    if on_pci:  # else there is nothing that could say which driver has it
        skip_of_virtual_machine(gpu)
        skip_display_card(gpu, gpus, driver)
    in_proc = need(gpu.in_proc)
    excluded = in_proc and not isinstance(gpu.excluded, Unread) and gpu.excluded
    lacking = [name for name, there in (("PCI", on_pci), ("/proc/driver/nvidia", in_proc)) if not there]
    cause = bar_cause(gpu, gpus, platform, named_in_log(events, words))
    remedy = cause.remedy if cause else _given_back(gpu)  # the GPU itself is in order
    if lacking:
        yield fail(f"not in {', '.join(lacking)}", code="missing", found=f"not in {', '.join(lacking)}", remedy=remedy)
    if not excluded and not need(gpu.in_nvml):
        yield fail("not in NVML", code="missing-in-nvml", found="not in NVML", wanted="in NVML", remedy=remedy)


def _given_back(gpu: Gpu) -> tuple[Step, ...]:
    """Where another driver has the GPU, a reset or another GPU changes nothing; () says the usual steps."""
    if isinstance(gpu.bound_to, Unread) or gpu.bound_to in ("", "nvidia"):
        return ()
    return (Step("configure", f"Give the GPU back to NVIDIA's driver: {gpu.bound_to} has it."),)
