"""A library through which monitors talk to the NVSwitches does not match the driver's version: DCGM and others see no switch."""

from hostagent.check import Findings, Step, Unread, check, need, skip
from hostagent.core.tables.nvlink_fabric import LIBRARY_PACKAGES
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.kernel import Kernel
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages

from ._board import has_board
from ._packages import named, other_versions


@check(
    title="The NVSwitch libraries have the same version as the driver",
    severity="warning",
    since="0.1",
    because=("driver.library_match", "driver.package_set_equal", "nvswitch.manager_version"),
    headline="The NVSwitch libraries do not match the driver",
    remedy=(Step("install", "Install libnvidia-nscq and libnvsdm in the driver's version."),),
    references=("NVIDIA Driver Installation Guide, section Compute-only (Headless)", "gpu-driver-container issue 735"),
    confirm=(
        "ldconfig -p | grep -E 'nscq|nvsdm'",
        "cat /sys/module/nvidia/version  # the loaded driver",
    ),
)
def library_version(packages: Packages, fabric: Fabric, gpus: tuple[Gpu, ...], driver: Driver, kernel: Kernel, os: Os | Unread) -> Findings:
    found = named(need(packages.installed), LIBRARY_PACKAGES)
    if not found:
        skip("neither libnvidia-nscq nor libnvsdm is installed")
    if not has_board(fabric, gpus):
        skip("this host has no NVSwitch")
    yield from other_versions(found, driver, kernel, packages, os)
