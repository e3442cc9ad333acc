"""The packages of the driver have different versions: the fabric manager, IMEX or the libraries do not fit the kernel module.

Kernel module, firmware, libraries, fabric manager, IMEX, NSCQ and NVSDM work at one version only. From branch to branch
NVIDIA renames them, and a package without the branch in its name (the fabric manager first of all) is upgraded alone by an ordinary
upgrade: the fabric manager then refuses to start and CUDA answers 802. The version that most packages have is taken as the right one.
Of packages that may be installed in several versions (one per kernel, one per firmware) one that fits is enough. Fabric manager, NSCQ
and NVSDM count where the host has NVSwitches or GPUs of a board with some, IMEX where the profile asks for it: images for many
kinds of hosts carry them for those that do, so in an image they warn. `nvswitch.unused_packages` lists them elsewhere.
"""

import re

from hostagent.check import Findings, Step, Unread, check, fail, need, skip, warn
from hostagent.core.tables.nvlink_fabric import has_hidden_switches
from hostagent.domains.packages.commands import install
from hostagent.domains.packages.tables.names import (
    SEPARATE_IN_DISTRIBUTIONS,
    driver_part,
    driver_stem,
    is_driver_version,
    several_may_be_installed,
)
from hostagent.facts.gpu import Gpu
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.os import Os
from hostagent.facts.packages import Package, Packages
from hostagent.facts.version import branch, compare_upstream
from hostagent.profile import Profile

#: Jobs run without these; they then fail to report or to be set up.
_SIDE_PARTS = ("NSCQ", "NVSDM", "modprobe", "persistence daemon")
_FABRIC_PARTS = ("fabric manager", "NSCQ", "NVSDM")


@check(
    title="All packages of the driver have the same version",
    severity="critical",
    since="0.1",
    headline="The packages of the driver have different versions",
    remedy=(Step("install", "Install the named packages in the driver's version."),),
    references=(
        "NVIDIA Fabric Manager User Guide, section Installation",
        "NVIDIA gpu-driver-container issue 735",
        "NVIDIA gpu-operator issue 544",
    ),
    confirm=(
        "dpkg -l '*nvidia*'  # Debian, Ubuntu",
        "rpm -qa '*nvidia*' | sort  # RHEL, SUSE",
    ),
)
def package_set_equal(packages: Packages, fabric: Fabric, gpus: tuple[Gpu, ...] | Unread, os: Os | Unread, profile: Profile) -> Findings:
    ours = [one for one in need(packages.installed) if _counts(one)]
    if len(ours) < 2:
        skip("fewer than two packages of the driver are installed")
    versions = [need(one.upstream) for one in ours]
    meant = max(sorted(set(versions)), key=versions.count)
    fitting = {driver_stem(one.name) for one in ours if need(one.upstream) == meant}
    several = {driver_part(one.name) for one in ours if several_may_be_installed(one.name) and need(one.upstream) == meant}
    in_image = isinstance(fabric.nvswitches, Unread) and fabric.nvswitches.why == "not-running"
    for one in ours:
        version, part = need(one.upstream), driver_part(one.name)
        beside_one_that_fits = part in several if several_may_be_installed(one.name) else driver_stem(one.name) in fitting
        if compare_upstream(version, meant) and not beside_one_that_fits:
            if not in_image and _is_unused(part, fabric, need(gpus), profile):
                continue
            report = warn if part in _SIDE_PARTS or (in_image and part in _FABRIC_PARTS) else fail
            text, steps = f"{one.name} is {version}, but the driver packages are {meant}", _steps(one.name, meant, packages, os)
            yield report(text, code="differs", found=version, wanted=meant, remedy=steps)


def _steps(name: str, version: str, packages: Packages, os: Os | Unread) -> tuple[Step, ...]:
    """A package with a branch in its name is replaced with that of the other branch."""
    renamed = re.sub(r"-\d{3}(?=-|$)", f"-{branch(version)}", name)
    steps = (Step("install", f"Install {renamed} {version}.", install(packages, os, (renamed,), version)),)
    if driver_part(name) != "fabric manager":
        return steps
    return (*steps, Step("restart_service", "Restart the fabric manager.", "systemctl restart nvidia-fabricmanager"))


def _counts(package: Package) -> bool:
    """Packages of the set; without the few of them that carry no driver version (20151021, 1.2) or one of their own by right."""
    part = driver_part(package.name)
    return (
        bool(part)
        and is_driver_version(need(package.upstream))
        and (part not in SEPARATE_IN_DISTRIBUTIONS or need(package.origin) == "cuda")
    )


def _is_unused(part: str, fabric: Fabric, gpus: tuple[Gpu, ...], profile: Profile) -> bool:
    """Nothing here needs it: what was found says so."""
    if part == "IMEX":
        return not profile.imex.required
    if part not in _FABRIC_PARTS:
        return False
    return not need(fabric.nvswitches) and not any(has_hidden_switches(need(gpu.device_id)) for gpu in gpus)
