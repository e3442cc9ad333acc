"""The installed packages of the driver, and their origin."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.driver.tables.packages import PINNING, belongs
from hostagent.domains.driver.tables.releases import floor
from hostagent.domains.packages.tables.names import SEPARATE_IN_DISTRIBUTIONS, SIGNED_MODULE_PACKAGES, driver_part, is_driver_version
from hostagent.facts.installation import Installation, InstalledPackage
from hostagent.facts.packages import Package, Packages, VersionLock, names
from hostagent.facts.version import compare_upstream, upstream
from hostagent.plan.answers import is_cuda
from hostagent.plan.view import View

#: The plan's own preferences: their pins are no holds of other owners.
PIN_FILE = "/etc/apt/preferences.d/hostagent-driver"
#: dpkg's states of a package without files on disk.
_GONE = ("config-files", "not-installed")
_NVIDIAS = ("nv", "cuda")
#: Names that only NVIDIA's repository for Debian has, and that only Debian's archive has.
_OF_CUDA = ("nvidia-driver-cuda", "nvidia-kernel-open-dkms", "nvidia-open", "cuda-drivers")
_OF_DEBIAN = ("nvidia-open-kernel-dkms", "nvidia-alternative")
_SERVER = "-server"


class DriverPackage(NamedTuple):
    """One installed package. ``upstream``: as NVIDIA writes the version, "" where there is no such one in it."""

    name: str
    arch: str
    version: str
    upstream: str
    state: str
    held: bool  # by the package manager's own mark, or by a pin or lock of another owner


Wanted = TypeVar("Wanted", bound=tuple[Any, ...])
Answer = TypeVar("Answer")


def _once(join: Callable[[Wanted], Answer]) -> Callable[[Wanted], Answer]:
    """`join` with a cache of its last result, also of an ``UnreadError``, for the same facts.

    Compared by identity: one host is evaluated at a time, and the cache holds its facts, so that no other object gets their id.
    """
    last: list[tuple[Wanted, Answer | UnreadError]] = []

    def cached(wanted: Wanted) -> Answer:
        if not last or not all(one is other for one, other in zip(last[0][0], wanted, strict=True)):
            last[:] = [(wanted, _result(join, wanted))]
        found = last[0][1]
        if isinstance(found, UnreadError):
            raise UnreadError(found.unread)
        return found

    return cached


def _result(join: Callable[[Wanted], Answer], wanted: Wanted) -> "Answer | UnreadError":
    try:
        return join(wanted)
    except UnreadError as error:
        return error


def packages_of(view: View) -> tuple[DriverPackage, ...]:
    """All packages of the host. Raises ``UnreadError``."""
    return _packages_of((view.installation, view.packages))


@_once
def _packages_of(facts: "tuple[Installation | Unread, Packages | Unread]") -> tuple[DriverPackage, ...]:
    locks = [lock for lock in need(need(facts[1]).locks) if lock.file != PIN_FILE]
    return tuple(_package(one, locks) for one in need(need(facts[0]).packages) if one.state not in _GONE)


def _package(one: InstalledPackage, locks: list[VersionLock]) -> DriverPackage:
    """The package; only NVIDIA's are searched for NVIDIA's version, because a host has thousands of others."""
    version = upstream(one.version) if any(part in one.name for part in _NVIDIAS) else ""
    locked = any(names(lock.package, one.name) and _takes(lock.version, one.version) for lock in locks)
    return DriverPackage(one.name, one.arch, one.version, "" if isinstance(version, Unread) else version, one.state, one.held or locked)


def driver_of(packages: tuple[DriverPackage, ...]) -> tuple[DriverPackage, ...]:
    """Packages of the driver, of any branch."""
    return tuple(one for one in packages if belongs(one.name, one.upstream))


def pinning_of(packages: tuple[DriverPackage, ...]) -> tuple[DriverPackage, ...]:
    """NVIDIA's packages that pin a branch."""
    return tuple(one for one in packages if one.name.startswith(PINNING))


def versions_of(driver: tuple[DriverPackage, ...], origin: str, unused: frozenset[str]) -> tuple[str, ...]:
    """The versions of the same-version set, newest first: more than one is a fault. `unused`: parts that nothing here needs."""
    counted = {one.upstream for one in driver if _counts(one, origin) and driver_part(one.name) not in unused}
    return newest_first(counted)


def newest_first(versions: "set[str]") -> tuple[str, ...]:
    from functools import cmp_to_key

    return tuple(sorted(versions, key=cmp_to_key(compare_upstream), reverse=True))


def has_advisory(version: str) -> bool:
    """Whether a security bulletin says that this version lacks its fixes."""
    known = floor(version.partition(".")[0])
    return known is not None and compare_upstream(version, known.version) < 0


def _counts(one: DriverPackage, origin: str) -> bool:
    """Whether it belongs to the same-version set: not if a distribution builds it from other sources, or in several versions."""
    part = driver_part(one.name)
    return bool(part) and part != "firmware" and (part not in SEPARATE_IN_DISTRIBUTIONS or origin == "cuda")


def _takes(pattern: str, version: str) -> bool:
    """Whether a lock's version matches this one: by prefix."""
    return names(f"{pattern.rstrip('*')}*", version) or names(f"{pattern.rstrip('*')}*", version.partition(":")[2])


def installed_origins(view: View) -> tuple[str, ...]:
    """``cuda``, ``distribution``, both or none: where the installed packages of the driver come from. Raises ``UnreadError``."""
    parts = [
        one
        for one in need(need(view.packages).installed)
        if driver_part(one.name) and is_driver_version(need(one.upstream)) and not one.name.startswith(SIGNED_MODULE_PACKAGES)
    ]
    known = {one.origin for one in parts if one.origin in ("cuda", "distribution")}
    if parts and not known:
        return (_by_name(view, parts),)
    return tuple(sorted(known))


def _by_name(view: View, parts: list[Package]) -> str:
    """Origins of packages without a recorded one: by their names, then by the host's sources."""
    names = {one.name for one in parts}
    if names & set(_OF_DEBIAN) or any(_SERVER in name for name in names):
        return "distribution"
    if names & set(_OF_CUDA) or need(need(view.packages).manager) == "rpm":
        return "cuda"
    sources = need(need(view.packages).apt_sources)
    return "cuda" if any(one.enabled and is_cuda(one.uri, ()) for one in sources) else "distribution"
