"""Whether a kernel takes the nvidia module that lies there for it, by the kernel's own rule (kernel/module/version.c, same_magic)."""

from typing import NamedTuple

from hostagent.check import Step, Unread, need, shell
from hostagent.domains.packages.commands import install, module_package
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import InstalledKernel, Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages


class Misfit(NamedTuple):
    """Why a module does not fit. `refused`: the kernel does not load it; else its symbols decide, which nobody compared."""

    code: str
    message: str
    found: str
    wanted: str
    refused: bool


def misfit(one: InstalledKernel, kernel: Kernel, driver: Driver) -> "Misfit | None":
    """None where it fits.

    With modversions the kernel compares all but the release, and then the checksums of symbols. weak-modules and packages of kernel
    modules compare those when they are installed; nobody does for a file that was copied.
    """
    built_for, _, options = need(one.nvidia_vermagic).strip().partition(" ")
    own = one.vermagic
    release, own_options = one.release, options
    if not (isinstance(own, Unread) and own.why == "absent"):
        release, _, own_options = need(own).strip().partition(" ")
    if options.split() != own_options.split():
        message = f"the nvidia module of kernel {one.release} was built with other options than that kernel"
        return Misfit("other-options", message, options, own_options, refused=True)
    if built_for == release:
        return None
    message = f"the nvidia module of kernel {one.release} was built for {built_for}"
    if "modversions" not in options.split():
        return Misfit("other-kernel", message, built_for, release, refused=True)
    if "/weak-updates/" in need(one.nvidia_path) or _is_loaded(one, kernel, driver) or need(one.nvidia_owner):
        return None
    return Misfit("copied", f"{message}, and no package put it there", built_for, release, refused=False)


def _is_loaded(one: InstalledKernel, kernel: Kernel, driver: Driver) -> bool:
    """The very file was loaded by this boot: nothing was changed in the directory since."""
    return (
        not isinstance(kernel.release, Unread)
        and kernel.release == one.release
        and driver.loaded is True
        and not isinstance(driver.loaded_srcversion, Unread)
        and not isinstance(one.nvidia_srcversion, Unread)
        and driver.loaded_srcversion == one.nvidia_srcversion
        and not isinstance(one.indexed_at, Unread)
        and not isinstance(kernel.booted_at, Unread)
        and one.indexed_at < kernel.booted_at
    )


def repaired_by(one: InstalledKernel, driver: Driver, packages: Packages | Unread, os: Os | Unread) -> tuple[Step, ...]:
    """DKMS builds where nothing but DKMS brings the module: a build beside a signed package hides the one that Secure Boot takes."""
    builds = () if isinstance(driver.dkms, Unread) else driver.dkms
    is_packaged = (
        isinstance(one.nvidia_signer, Unread)
        or bool(one.nvidia_signer)
        or (not isinstance(one.nvidia_owner, Unread) and bool(one.nvidia_owner))
    )
    if builds and not is_packaged:
        newest = builds[0]
        command = shell("dkms install --force {} -k {}", f"{newest.module}/{newest.version}", one.release)
        return (Step("install", f"Build the module for kernel {one.release}.", command),)
    name = module_package(packages, one.release)
    return (Step("install", f"Install the module package of kernel {one.release}.", install(packages, os, (name,)) if name else ""),)
