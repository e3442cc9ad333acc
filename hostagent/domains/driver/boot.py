"""Steps that change what the next boot loads, with this host's commands filled in."""

import re
from typing import NamedTuple

from hostagent.core.steps import Step, shell
from hostagent.core.unread import Unread, need
from hostagent.domains.packages.commands import initramfs, install, install_headers, module_package
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages

#: The kernel's own drivers of NVIDIA GPUs.
KERNELS_OWN = ("nouveau", "nova_core")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
NOUVEAU_FILE = "/etc/modprobe.d/blacklist-nouveau.conf"


def rebuild_initramfs(packages: "Packages | Unread", release: str = "") -> Step:
    """Rebuilds the initramfs of one kernel, or of all; without a command if the package database does not determine the tool."""
    command = initramfs(packages, release)
    named = "" if command else " ('update-initramfs' or 'dracut')"
    return Step("configure", f"Rebuild the initramfs{f' of kernel {release}' if release else ''}{named}.", command)


def blacklist(packages: "Packages | Unread", *modules: str) -> tuple[Step, ...]:
    """Blocks nouveau and its successor nova_core, which loads if it is built; the step names those that are in the way."""
    lines = r"blacklist nouveau\nblacklist nova_core\noptions nouveau modeset=0\n"
    return (
        Step("configure", f"Blacklist {' and '.join(modules) or 'nouveau'}.", f"printf '{lines}' > {NOUVEAU_FILE}"),
        rebuild_initramfs(packages),
    )


def blacklist_nouveau(packages: "Packages | Unread") -> tuple[Step, ...]:
    """The same, before any of them is loaded."""
    return blacklist(packages)


def module_of(gpu: Gpu) -> str:
    """The module that drives a GPU, "" for none: by sysfs, else by the name of the driver. Raises ``UnreadError``.

    Drivers in Rust name themselves as types are named: NovaCore is of nova_core. Others are of the module of their name, with "_" for "-".
    """
    name = need(gpu.bound_to)
    if not isinstance(gpu.bound_module, Unread) and gpu.bound_module:
        return gpu.bound_module
    return _CAPITAL.sub("_", name).lower().replace("-", "_")


def write_line(path: str, line: str) -> str:
    """The command that writes a file of one line."""
    return shell("echo {} > {}", line, path)


def load_at_boot(module: str) -> Step:
    """``nvidia-uvm`` into modules-load.d(5)."""
    return Step("configure", f"Let each boot load {module}.", write_line(f"/etc/modules-load.d/{module}.conf", module))


def build_module(kernel: Kernel, packages: "Packages | Unread", os: "Os | Unread", release: str, when: str = "") -> tuple[Step, ...]:
    """DKMS builds the module for this kernel; the headers come first unless they are known to be installed."""
    one = kernel.at(release)
    build = Step(
        "install", "Build the module; make.log below /var/lib/dkms says why if that fails.", shell("dkms autoinstall -k {}", release)
    )
    if not isinstance(one, Unread) and not isinstance(one.headers, Unread) and one.headers:
        return (build,)
    text = f"{when}install the headers of kernel {release}."
    return (Step("install", text[0].upper() + text[1:], install_headers(packages, os, release)), build)


class Parts(NamedTuple):
    """Facts that decide the source of the kernels' modules."""

    kernel: Kernel
    driver: Driver
    packages: "Packages | Unread"
    os: "Os | Unread"


def install_module(parts: Parts, release: str, when: str = "") -> tuple[Step, ...]:
    """Installs the module: by DKMS, by the package that corresponds to another kernel's, or by the driver's own method."""
    kernel, driver, packages, os = parts
    builds = () if isinstance(driver.dkms, Unread) else driver.dkms
    if builds:
        return build_module(kernel, packages, os, release, when)
    name = module_package(packages, release)
    text = f"{when}install the nvidia module of kernel {release}."
    return (Step("install", text[0].upper() + text[1:], install(packages, os, (name,)) if name else ""),)
