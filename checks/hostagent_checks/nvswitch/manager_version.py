"""The fabric manager and the loaded driver have different versions: it refuses to start, and CUDA fails with error 802.

The newer packages of it have no branch in their name, so an upgrade takes only them to the newest branch.
"""

from hostagent.check import Findings, Step, Unread, check, need, skip
from hostagent.core.tables.nvlink_fabric import MANAGER_PACKAGES
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages

from ._packages import named, other_versions
from ._switches import local_switches

_RESTART = Step("restart_service", "Restart the fabric manager.", command="systemctl restart nvidia-fabricmanager")


@check(
    title="The fabric manager has the same version as the driver",
    severity="critical",
    since="0.1",
    explains=("nvlink",),
    because=("driver.library_match", "driver.package_set_equal"),
    headline="The fabric manager does not match the driver",
    remedy=(
        Step("install", "Install the fabric manager in the driver's version."),
        _RESTART,
    ),
    references=("gpu-operator issue 544", "gpu-driver-container issue 735", "NVIDIA Fabric Manager User Guide, section Installing"),
    confirm=(
        "nv-fabricmanager --version",
        "cat /sys/module/nvidia/version  # the loaded driver",
    ),
)
def manager_version(fabric: Fabric, packages: Packages, driver: Driver, kernel: Kernel, os: Os | Unread) -> Findings:
    local_switches(fabric)
    found = named(need(packages.installed), MANAGER_PACKAGES)
    if not found:
        skip("no fabric manager package is installed")
    yield from other_versions(found, driver, kernel, packages, os, _RESTART)
