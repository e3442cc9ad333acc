"""NVML and the kernel report different driver versions: the library in use is not the one of the loaded module."""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.facts.driver import Driver


@check(
    title="NVML and the kernel report the same driver version",
    severity="warning",
    since="0.1",
    because=("driver.library_match",),
    headline="NVML and the kernel report different driver versions",
    remedy=(
        Step("install", "Install the kernel module and the libraries in one version."),
        REBOOT,
    ),
    references=("NVML API Reference, nvmlSystemGetDriverVersion",),
    confirm=(
        "nvidia-smi --query-gpu=driver_version --format=csv",
        "cat /sys/module/nvidia/version  # the loaded driver",
    ),
)
def nvml_version(driver: Driver) -> Findings:
    if need(driver.nvml_error_code):
        skip("NVML does not start; driver.nvml_initialises checks that")
    found, loaded = need(driver.nvml_driver_version), need(driver.loaded_version)
    if found != loaded:
        yield fail(f"NVML reports driver {found}, the kernel has {loaded}", code="differs", found=found, wanted=loaded)
