"""The NVIDIA kernel module is not loaded: nothing on this host can use a GPU, whatever is installed.

It does not stay where it can start no GPU: where the firmware left a BAR of each without an address, the firmware is the cause.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.domains.gpu.start_cause import EMPTY, Cause, bar_cause
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform

_LOAD = Step("restart_service", "Load the module; if that fails, 'journalctl -k -b -g nvidia' says why.", command="modprobe nvidia")


@check(
    title="The NVIDIA kernel module is loaded",
    severity="critical",
    order=39,  # before the driver's other findings, which may follow from it
    since="0.1",
    explains=("gpu",),
    because=(
        "gpu.present:none",
        "kernel.nouveau_loaded",
        "kernel.secure_boot",
        "kernel.module_vermagic",
        "kernel.module_present",
        "driver.package_interrupted",
    ),
    headline="The NVIDIA kernel module is not loaded",
    remedy=(_LOAD,),
    references=("Linux kernel, Documentation/ABI/testing/sysfs-module",),
    confirm=(
        "lsmod | grep nvidia",
        "journalctl -k -g 'nvidia|NVRM'",
    ),
)
def loaded(driver: Driver, gpus: tuple[Gpu, ...] | Unread, platform: Platform | Unread) -> Findings:
    if not need(driver.loaded):
        cause = _cause(gpus, platform)
        if cause is None:
            yield fail("the nvidia module is not loaded", code="not-loaded", found="not loaded", wanted="live")
        else:
            headline = cause.headline.replace("{device}", "the GPUs")
            text = f"the nvidia module is not loaded, and could start no GPU: {cause.text}"
            yield fail(text, code=cause.code, found="not loaded", wanted="live", headline=headline, remedy=(*cause.remedy, _LOAD))


def _cause(gpus: tuple[Gpu, ...] | Unread, platform: Platform | Unread) -> Cause | None:
    """The firmware, where no driver has any GPU and each lacks a BAR."""
    if isinstance(gpus, Unread) or not gpus or not all(gpu.bound_to == "" for gpu in gpus if not isinstance(gpu.bound_to, Unread)):
        return None
    causes = [bar_cause(gpu, gpus, platform) for gpu in gpus]
    return causes[0] if all(one is not None and one.code == EMPTY for one in causes) else None
