"""NVML and the kernel name different driver versions: the library in use is not the one of the loaded module."""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.driver import Driver


@check(
    title="NVML and the kernel agree on the driver's version",
    severity="warning",
    since="0.1",
    because=("driver.library_match",),
    headline="NVML and the kernel do not agree on the driver's version",
    remedy=(
        Step("install", "Install the module and the libraries of one version."),
        Step("reboot", "Reboot the node."),
    ),
    references=("NVML API Reference, nvmlSystemGetDriverVersion",),
    confirm=(
        "nvidia-smi --query-gpu=driver_version --format=csv",
        "cat /sys/module/nvidia/version  # the loaded driver",
    ),
)
def nvml_version(driver: Driver) -> Findings:
    if need(driver.nvml_error_code):
        skip("NVML does not start: driver.nvml_initialises says so")
    found, loaded = need(driver.nvml_driver_version), need(driver.loaded_version)
    if found != loaded:
        yield fail(f"NVML says driver {found}, the kernel has {loaded}", code="differs", found=found, wanted=loaded)
