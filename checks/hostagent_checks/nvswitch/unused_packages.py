"""Packages of the fabric have another version than the driver, and nothing on this host needs them: no NVSwitch, no GPU of a board with
some, no IMEX asked for. Images for many kinds of hosts carry them. Where a host needs them `driver.package_set_equal` fails.
"""

from hostagent.check import Findings, Step, check, need, skip, warn
from hostagent.core.tables.nvlink_fabric import IMEX_PACKAGES, LIBRARY_PACKAGES, MANAGER_PACKAGES
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.packages import Packages
from hostagent.profile import Profile

from ._board import has_board
from ._packages import named


@check(
    title="Unused fabric packages have the same version as the driver",
    severity="info",
    since="0.1",
    headline="Unused fabric packages have another version than the driver",
    remedy=(Step("none", "Nothing. Hosts without NVSwitches can do without them."),),
    references=("gpu-driver-container issue 735", "NVIDIA Fabric Manager User Guide, section Installing"),
    confirm=(
        "dpkg -l '*nvidia*'  # Debian, Ubuntu",
        "rpm -qa '*nvidia*' | sort  # RHEL, SUSE",
    ),
)
def unused_packages(packages: Packages, fabric: Fabric, gpus: tuple[Gpu, ...], driver: Driver, profile: Profile) -> Findings:
    unused = () if has_board(fabric, gpus) else (*MANAGER_PACKAGES, *LIBRARY_PACKAGES)
    found = named(need(packages.installed), (*unused, *(() if profile.imex.required else IMEX_PACKAGES)))
    if not found:
        skip("no unused package of the fabric is installed")
    loaded = need(driver.loaded_version)
    for package in found:
        if need(package.upstream) != loaded:
            text = f"{package.name} is {package.upstream}, driver {loaded} is loaded; nothing here needs the package"
            yield warn(text, code="other-version", found=package.upstream, wanted=loaded)
