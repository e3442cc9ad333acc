"""The kernel that runs now has no nvidia module on disk: after this boot, or after the module is unloaded, no GPU can be used.

Usual cause: the kernel was updated and the module was not built for it, or the package with the precompiled module of
this kernel is missing. Debian's modules have names of their own, and a link in /etc/alternatives says which of them is meant: without
it none is. `nvidia-smi` then says that it could not communicate with the driver. If the module is loaded all
the same, its file was removed later, and the host works until the next reboot. Some platforms load it from a directory of their own, where
their libraries are, too, and a container has its host's module.
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, skip, warn
from hostagent.core.tables.platforms import HOSTS_OWN
from hostagent.domains.driver.boot import Parts, install_module
from hostagent.domains.driver.owned import first_boot_archive, in_driver_container, library_platform
from hostagent.domains.packages.commands import install_headers
from hostagent.domains.packages.tables.names import driver_part
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform
from hostagent.profile import Profile

#: In this order they make the links again by which modprobe finds the module.
_CHOOSE = (
    Step("install", "Choose the nvidia module again.", "update-alternatives --auto nvidia"),
    Step("install", "Choose the libraries again.", "update-alternatives --auto glx"),
    Step("restart_service", "Load the module.", "modprobe nvidia"),
)


@check(
    title="The running kernel has an nvidia module on disk",
    severity="critical",
    since="0.1",
    because=("gpu.present:none",),
    headline="The running kernel has no nvidia module on disk",
    remedy=(
        Step("install", "Install the nvidia module of this kernel: its package, or its headers for DKMS."),
        Step("restart_service", "Load the module.", command="modprobe nvidia"),
    ),
    references=("depmod(8)", "NVIDIA/nvidia-docker issue 804"),
    confirm=(
        "modinfo nvidia",
        "find /lib/modules/$(uname -r) -name 'nvidia*.ko*'",
    ),
)
def module_present(
    kernel: Kernel, driver: Driver, platform: Platform, packages: Packages | Unread, os: Os | Unread, profile: Profile
) -> Findings:
    if profile.driver.owner not in HOSTS_OWN:
        skip("the driver's owner provides the module")
    release = need(kernel.release)
    running = kernel.at(release)
    if not isinstance(running, Unread) and need(running.nvidia_path):
        return
    if archive := first_boot_archive(platform, driver, release):
        skip(f"the image installs the module at its first boot, out of {archive}")
    named = () if isinstance(running, Unread) or isinstance(running.nvidia_named, Unread) else running.nvidia_named
    others = tuple(one.release for one in need(kernel.installed) if one.release != release and need(one.nvidia_path))
    code = "not-chosen" if named else "other-kernel-has-it" if others else "missing"
    message = f"kernel {release} has no nvidia module on disk" + (f", kernel {first_of(others)} has one" if others else "")
    if named:
        message = f"kernel {release} has {first_of(named)}, but modprobe finds no module called nvidia"
    remedy = (
        _CHOOSE if named else _steps(Parts(kernel, driver, packages, os), release, profile, is_here=bool(others) or driver.loaded is True)
    )
    if driver.loaded is True:
        if in_driver_container(driver):
            skip("a driver container loaded the module; driver.owner checks that")
        if owner := library_platform(platform, driver):
            skip(f"{owner} loads the module from a directory of its own")
        if platform.in_container:
            skip("a container, and its host has the module")
        yield warn(
            f"the nvidia module of kernel {release} is loaded, not on disk",
            code="removed",
            found="loaded, not on disk",
            wanted="on disk",
            evidence=others,
            remedy=tuple(step for step in remedy if step.action == "install"),
            headline="The nvidia module is loaded, and its file is no longer on disk",
        )
    else:
        headline = "modprobe finds no module called nvidia for the running kernel" if named else ""
        yield fail(message, code=code, found="none", wanted=f"nvidia.ko of {release}", evidence=others, remedy=remedy, headline=headline)


def _steps(parts: Parts, release: str, profile: Profile, *, is_here: bool) -> tuple[Step, ...]:
    """Where nothing of a driver is here, one has to be installed first."""
    packages, driver = parts.packages, parts.driver
    installed = () if isinstance(packages, Unread) or isinstance(packages.installed, Unread) else packages.installed
    load = Step("restart_service", "Load the module.", "modprobe nvidia")
    builds = () if isinstance(driver.dkms, Unread) else driver.dkms
    if is_here or builds or any(driver_part(one.name) for one in installed):
        return (*install_module(parts, release), load)
    headers = Step("install", f"Install the headers of kernel {release}.", install_headers(packages, parts.os, release))
    return (headers, Step("install", f"Install NVIDIA driver {profile.driver.version}."), load)
