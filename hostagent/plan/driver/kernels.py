"""The kernels that get a module, the state of their modules, and the packages with their headers."""

# Metapackages (headers, signed modules) are taken at the newest version that is no newer than the installed kernel's metapackage,
# so that nothing comes for a kernel that is not there.

import re
from typing import NamedTuple

from hostagent.core.unread import NOT_APPLICABLE, Unread, need
from hostagent.domains.driver.tables.packages import Host, meta_flavour
from hostagent.domains.packages.tables.package_manager_commands import VARIANTS
from hostagent.facts.kernel import InstalledKernel, Kernel
from hostagent.facts.version import upstream
from hostagent.plan.view import View

_ARCH = re.compile(r"\.(?:x86_64|aarch64)(?:\+\w+)?$")


def target_kernels(view: View) -> tuple[str, ...]:
    """The running one and the next boot's; of an image the one that was named, else the next boot's. Raises ``UnreadError``."""
    kernel = need(view.kernel)
    if isinstance(kernel.release, Unread) and kernel.release.why in NOT_APPLICABLE:
        return ()
    releases = [need(kernel.release)]
    if view.kind != "image":
        following = kernel.next_release
        if not (isinstance(following, Unread) and following.why in NOT_APPLICABLE):
            releases.append(need(following))
    return tuple(dict.fromkeys(releases))


def has_module(view: View, release: str, version: str, flavour: str) -> bool:
    """Whether the file that this kernel loads is the module of that version and flavour; "" takes any. Raises ``UnreadError``."""
    one = need(view.kernel).at(release)
    if isinstance(one, Unread) and one.why in NOT_APPLICABLE:
        return False
    found = need(one)
    if not need(found.nvidia_path) or is_damaged(found):
        return False
    fits = _is_taken(found) and (not flavour or need(found.nvidia_flavour) == flavour)
    return fits and (not version or need(upstream(need(found.nvidia_version))) == version)


def is_damaged(one: InstalledKernel) -> bool:
    """Whether the file is cut, by a full disk or a kill: no kernel loads it, and it has to be built anew."""
    return isinstance(one.nvidia_version, Unread) and one.nvidia_version.why == "error" and not isinstance(one.nvidia_path, Unread)


def _is_taken(one: InstalledKernel) -> bool:
    """Whether the kernel accepts its module by its version magic (kernel/module/version.c, same_magic). Raises ``UnreadError``."""
    if isinstance(one.nvidia_vermagic, Unread) and one.nvidia_vermagic.why in NOT_APPLICABLE:
        return True
    built_for, _, options = need(one.nvidia_vermagic).strip().partition(" ")
    own = one.vermagic
    release, own_options = one.release, options
    if not (isinstance(own, Unread) and own.why in NOT_APPLICABLE):
        release, _, own_options = need(own).strip().partition(" ")
    if options.split() != own_options.split():
        return False
    return built_for == release or (
        "modversions" in options.split() and ("/weak-updates/" in need(one.nvidia_path) or bool(need(one.nvidia_owner)))
    )


def has_headers(kernel: Kernel, release: str) -> bool:
    """Raises ``UnreadError``."""
    one = kernel.at(release)
    return not (isinstance(one, Unread) and one.why in NOT_APPLICABLE) and need(need(one).headers)


def installed_kernel(view: View, release: str) -> "InstalledKernel | None":
    """The kernel; None where the host has no directory of modules for it, or that was not read."""
    one = view.kernel if isinstance(view.kernel, Unread) else view.kernel.at(release)
    return None if isinstance(one, Unread) else one


class Headers(NamedTuple):
    """Packages (name, version; "" any) that DKMS needs for a kernel, and metapackages that follow the newest of its flavour."""

    exact: tuple[tuple[str, str], ...]
    meta: tuple[str, ...]


def headers(host: Host, release: str, installed: frozenset[str]) -> Headers:
    """By the distribution's names; NVIDIA Driver Installation Guide, section Kernel Headers of each distribution.

    >>> headers(Host("debian", "12", "x86_64"), "6.1.0-40-cloud-amd64", frozenset())
    Headers(exact=(('linux-headers-6.1.0-40-cloud-amd64', ''),), meta=('linux-headers-cloud-amd64',))
    >>> headers(Host("rocky", "9.6", "x86_64"), "5.14.0-570.12.1.el9_6.x86_64", frozenset()).exact
    (('kernel-devel-matched', '5.14.0-570.12.1.el9_6'),)
    """
    if host.is_apt:
        flavour = meta_flavour(release, installed)
        return Headers(((f"linux-headers-{release}", ""),), (f"linux-headers-{flavour}",) if flavour else ())
    if host.id in ("sles", "opensuse-leap"):
        version, _, flavour = release.rpartition("-")
        return Headers(((f"kernel-{flavour}-devel", version),), ())
    version = _ARCH.sub("", release)
    stem = _stem(release, installed)
    is_matched = (host.id != "amzn" and not host.version_id.startswith("8") and host.id != "azurelinux") and stem == "kernel"
    name = f"{stem}-devel{'-matched' if is_matched else ''}"
    extra = ((f"{stem}-modules-extra", version),) if host.id == "amzn" else ()
    return Headers(((name, version), *extra), ())


def _stem(release: str, installed: frozenset[str]) -> str:
    """kernel; kernel-uek, kernel-rt, kernel-64k; kernel6.12 where Amazon Linux names the line."""
    line = f"kernel{'.'.join(release.split('.')[:2])}"
    if line in installed:
        return line
    found = (word for word in VARIANTS if f"+{word}" in release or re.search(rf"\.el\d*{word}", release))
    variant = next(found, "")
    return f"kernel-{variant}" if variant else "kernel"
