"""The commands that change this host's packages, with its own names filled in; "" where the facts do not say."""

import re
from collections.abc import Iterable

from hostagent.core.steps import shell
from hostagent.core.unread import Unread, need
from hostagent.domains.packages.tables.package_manager_commands import INITRAMFS, VARIANTS, Manager, manager
from hostagent.facts.os import Os
from hostagent.facts.packages import Package, Packages, names

_OF_KERNELS = ("linux-image-", "linux-headers-", "linux-modules-")
_RPM_RELEASE = re.compile(r"\.(x86_64|aarch64)(\+\w+)?$")


def manager_of(packages: "Packages | Unread", os: "Os | Unread") -> "Manager | None":
    """None where neither facts say it: rpm alone says less than the distribution does."""
    database = _database(packages)
    id_ = "" if isinstance(os, Unread) or isinstance(os.id, Unread) else os.id
    return manager(database, id_) if database == "dpkg" or id_ else None


def program_of(packages: "Packages | Unread", os: "Os | Unread") -> str:
    """Its program: apt-get, dnf, zypper, tdnf; "" where that is not known."""
    found = manager_of(packages, os)
    return found.install.partition(" ")[0] if found else ""


def install(packages: "Packages | Unread", os: "Os | Unread", names: Iterable[str], version: str = "") -> str:
    """Of these packages, at `version` where one is given: as NVIDIA writes it."""
    found = manager_of(packages, os)
    at = found.at if found else ""
    written = _as_written(packages, version) if found and found.database == "dpkg" else version
    return _command(found.install if found else "", (f"{name}{at}{written}" if version else name for name in names))


def reinstall(packages: "Packages | Unread", os: "Os | Unread", names: Iterable[str]) -> str:
    found = manager_of(packages, os)
    return _command(found.reinstall if found else "", names)


def purge(packages: "Packages | Unread", os: "Os | Unread", names: Iterable[str]) -> str:
    found = manager_of(packages, os)
    return _command(found.purge if found else "", names)


def hold(packages: "Packages | Unread", os: "Os | Unread", names: Iterable[str]) -> str:
    found = manager_of(packages, os)
    return _command(found.hold if found else "", names)


def unhold(packages: "Packages | Unread", os: "Os | Unread", names: Iterable[str]) -> str:
    found = manager_of(packages, os)
    return _command(found.unhold if found else "", names)


def install_headers(packages: "Packages | Unread", os: "Os | Unread", release: str) -> str:
    """Of a kernel that comes from the distribution's packages: only those are known to have such a package."""
    return _of_kernel(packages, os, release, "linux-headers-", "-devel")


def install_kernel(packages: "Packages | Unread", os: "Os | Unread", release: str) -> str:
    """The kernel itself, of a distribution's release."""
    return _of_kernel(packages, os, release, "linux-image-", "")


def initramfs(packages: "Packages | Unread", release: str = "") -> str:
    """What rebuilds the initramfs of that kernel, of all kernels without one."""
    one, every = INITRAMFS.get(_database(packages), ("", ""))
    return shell(one, release) if release else every


def module_package(packages: "Packages | Unread", release: str) -> str:
    """The package that has the nvidia module of this kernel, by the name of the one that another kernel has its module from; "" for none.

    Ubuntu: linux-modules-nvidia-580-open-6.8.0-87-generic. RHEL: kmod-nvidia-580.95.05-5.14.0-570.12.1.
    """
    names = [one.name for one in _installed(packages)]
    flavour = release.rpartition("-")[2]
    for name in names:
        ubuntu = re.match(rf"(linux-modules-nvidia-\d{{3}}[a-z-]*-)\d[\w.]*-\d+-{re.escape(flavour)}$", name)
        if ubuntu:
            return f"{ubuntu[1]}{release}"
        red_hat = re.match(r"(kmod-nvidia-(?:open-)?\d{3}\.[\d.]+-)\d[\d.]*-\d[\d.]*$", name)
        if red_hat and ".el" in release:
            return f"{red_hat[1]}{release.partition('.el')[0]}"
    return ""


def _of_kernel(packages: "Packages | Unread", os: "Os | Unread", release: str, debian: str, suffix: str) -> str:
    found = manager_of(packages, os)
    if found is None:
        return ""
    if found.database == "dpkg":
        flavour = release.rpartition("-")[2] if "-" in release else ""
        is_known = flavour and any(one.name.startswith(_OF_KERNELS) and one.name.endswith(f"-{flavour}") for one in _installed(packages))
        return _command(found.install, (f"{debian}{release}",)) if is_known else ""
    if found.install.startswith("zypper"):
        version, _, flavour = release.rpartition("-")
        return _command(found.install, (f"kernel-{flavour}{suffix}={version}",)) if version and flavour.isalpha() else ""
    if not _RPM_RELEASE.search(release):
        return ""
    return _command(found.install, (f"{_kernel_stem(packages, release)}{suffix}-{release.partition('+')[0]}",))


def _kernel_stem(packages: "Packages | Unread", release: str) -> str:
    """kernel; kernel-uek, kernel-rt, kernel-64k; kernel6.12 where Amazon Linux names the line."""
    line = f"kernel{'.'.join(release.split('.')[:2])}"
    if any(one.name == line for one in _installed(packages)):
        return line
    variant = next(
        (word for word in VARIANTS if f"+{word}" in release or f".el{word}" in release or re.search(rf"el\d+{word}", release)), ""
    )
    return f"kernel-{variant}" if variant else "kernel"


def _as_written(packages: "Packages | Unread", version: str) -> str:
    """A version as dpkg has it, by the packages that have it already; else any revision of it."""
    same = [one.version for one in _installed(packages) if not isinstance(one.upstream, Unread) and one.upstream == version]
    return max(sorted(set(same)), key=same.count) if same else f"{version}-*"


def _command(verb: str, names: Iterable[str]) -> str:
    words = tuple(names)
    return shell(" ".join((verb, *("{}" for _ in words))), *words) if verb and words else ""


def _database(packages: "Packages | Unread") -> str:
    return "" if isinstance(packages, Unread) or isinstance(packages.manager, Unread) else packages.manager


def _installed(packages: "Packages | Unread") -> tuple[Package, ...]:
    return () if isinstance(packages, Unread) or isinstance(packages.installed, Unread) else packages.installed


def moves(packages: Packages, package: Package) -> bool:
    """Whether an automatic upgrade may replace this package: none holds it, nor the upgrader's own list, and it takes from its origin.

    NVIDIA's repositories are taken from only where an entry names them or names all. Raises ``UnreadError``.
    """
    if package.held:
        return False
    need(packages.locks)  # without them none is known to be held
    if not need(packages.unattended_upgrades) or any(names(glob, package.name) for glob in need(packages.unattended_blacklist)):
        return False
    origins = need(packages.unattended_origins)
    if need(package.origin) in ("cuda", "toolkit"):
        return any("nvidia" in one.lower() or "*" in one for one in origins)
    return bool(origins)
