"""The NVIDIA kernel module is not loaded: nothing on this host can use a GPU, whatever is installed."""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.driver import Driver


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
    remedy=(Step("restart_service", "Load the module; if that fails, 'journalctl -k -b -g nvidia' says why.", command="modprobe nvidia"),),
    references=("Linux kernel, Documentation/ABI/testing/sysfs-module",),
    confirm=(
        "lsmod | grep nvidia",
        "journalctl -k -g 'nvidia|NVRM'",
    ),
)
def loaded(driver: Driver) -> Findings:
    if not need(driver.loaded):
        yield fail("the nvidia module is not loaded", code="not-loaded", found="not loaded", wanted="live")
