"""The commands that change this host's packages, with its own names filled in; "" where the facts do not name them."""

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
    """The package manager of this host; None if unknown: several use rpm's database, so the distribution decides."""
    database = _database(packages)
    id_ = "" if isinstance(os, Unread) or isinstance(os.id, Unread) else os.id
    return manager(database, id_) if database == "dpkg" or id_ else None


def program_of(packages: "Packages | Unread", os: "Os | Unread") -> str:
    """The package manager's program: apt-get, dnf, zypper, tdnf; "" if unknown."""
    found = manager_of(packages, os)
    return found.install.partition(" ")[0] if found else ""


def install(packages: "Packages | Unread", os: "Os | Unread", names: Iterable[str], version: str = "") -> str:
    """Command that installs these packages, at `version` (as NVIDIA writes it) if set."""
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
    """Command that installs a kernel's headers; only for kernels from the distribution's packages, which have such a package."""
    return _of_kernel(packages, os, release, "linux-headers-", "-devel")


def install_kernel(packages: "Packages | Unread", os: "Os | Unread", release: str) -> str:
    """Command that installs a distribution's kernel."""
    return _of_kernel(packages, os, release, "linux-image-", "")


def initramfs(packages: "Packages | Unread", release: str = "") -> str:
    """Command that rebuilds the initramfs of that kernel; of all kernels if `release` is empty."""
    one, every = INITRAMFS.get(_database(packages), ("", ""))
    return shell(one, release) if release else every


def module_package(packages: "Packages | Unread", release: str) -> str:
    """The package with this kernel's nvidia module, derived from the package that another kernel has its module from; "" for none.

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
    """The version with dpkg's revision, from packages already installed; else with any revision."""
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
    """Whether an automatic upgrade may replace this package: it is not locked or excluded, and its origin is allowed.

    NVIDIA's repositories are allowed only if an entry names them or all origins. Raises ``UnreadError``.
    """
    if package.held:
        return False
    need(packages.locks)  # without them, no package is known to be held
    if not need(packages.unattended_upgrades) or any(names(glob, package.name) for glob in need(packages.unattended_blacklist)):
        return False
    origins = need(packages.unattended_origins)
    if need(package.origin) in ("cuda", "toolkit"):
        return any("nvidia" in one.lower() or "*" in one for one in origins)
    return bool(origins)
