"""The package database (dpkg's or rpm's), with locks, origins and automatic upgrades of its packages."""

from collections.abc import Callable, Iterable
from typing import Any

from hostagent.core.unread import NOT_THERE, Unread, then
from hostagent.domains.packages.read_apt import read_apt_keys, read_apt_sources
from hostagent.domains.packages.read_apt_conf import read_apt_settings, unattended
from hostagent.domains.packages.read_dnf import read_automatic, read_streams
from hostagent.domains.packages.read_dpkg import STATUS, Record, dpkg_owners, read_interrupted, read_status
from hostagent.domains.packages.read_rpm import read_rpm, rpm_database, rpm_owners
from hostagent.domains.packages.read_version_locks import Locks, covers, read_locks
from hostagent.facts.packages import Package, Packages
from hostagent.facts.version import upstream
from hostagent.host.source import Source

#: Packages that can own a library or a module of the driver; the file lists of others need not be read.
_OWNERS = ("libnvidia", "libcuda", "nvidia", "cuda-compat", "xorg-x11-", "kmod-nvidia", "linux-modules-nvidia")


def read_packages(source: Source, known: Callable[[type], Any]) -> Packages:
    manager = _manager(source)
    is_dpkg = not isinstance(manager, Unread) and manager == "dpkg"
    other = manager if isinstance(manager, Unread) else Unread("not-supported", f"{manager} is this host's package manager")
    records = manager if isinstance(manager, Unread) else read_status(source) if is_dpkg else read_rpm(source)
    found = read_locks(source)
    locks, ignored = (found, found) if isinstance(found, Unread) else found
    installed = then(records, lambda rows: _installed(rows, () if isinstance(locks, Unread) else locks))
    sources = read_apt_sources(source) if is_dpkg else other
    on, blacklist, origins = _automatic(source, installed, is_dpkg=is_dpkg)
    return Packages(
        manager=manager,
        installed=installed,
        interrupted=read_interrupted(source) if is_dpkg else other,
        locks=locks,
        ignored_preferences=ignored if is_dpkg else other,
        apt_sources=sources,
        apt_keys=read_apt_keys(source, sources) if is_dpkg else other,
        apt_version=_apt_version(installed) if is_dpkg else other,
        apt_sqv=source.exists("/usr/bin/sqv"),
        unattended_upgrades=on,
        unattended_blacklist=blacklist,
        unattended_origins=origins,
        module_streams=read_streams(source) if not is_dpkg and not isinstance(manager, Unread) else other,
    )


def owners(source: Source, packages: "Packages | Unread", paths: Iterable[str]) -> "dict[str, str | Unread]":
    """The package that owns each file of the driver (links resolved), "" for none."""
    wanted = tuple(dict.fromkeys(paths))
    if isinstance(packages, Unread):
        return dict.fromkeys(wanted, packages)
    installed = packages.installed
    if isinstance(installed, Unread):
        return dict.fromkeys(wanted, installed)
    able = [one for one in installed if one.name.startswith(_OWNERS)]
    if packages.manager == "rpm":
        return rpm_owners(source, tuple(dict.fromkeys(one.name for one in able)), wanted)
    return dpkg_owners(source, tuple((one.name, one.arch) for one in able), wanted)


def _manager(source: Source) -> "str | Unread":
    """Dpkg or rpm. The other family's tools may be installed too, with an empty database; dpkg's is then an empty file."""
    status = source.stat(STATUS)
    if isinstance(status, Unread) and status.why != "absent":
        return status
    if not isinstance(status, Unread) and status.size:
        return "dpkg"
    return then(rpm_database(source), lambda _: "rpm")


def _installed(records: tuple[Record, ...], locks: Locks) -> tuple[Package, ...]:
    packages = (
        Package(
            name=one.name,
            version=one.version,
            upstream=upstream(one.version),
            arch=one.arch,
            state=one.state,
            held=one.held or any(covers(lock, one) for lock in locks),
            origin=one.origin,
        )
        for one in records
    )
    return tuple(sorted(packages, key=lambda one: (one.name, one.arch)))


def _apt_version(installed: "tuple[Package, ...] | Unread") -> "str | Unread":
    none = Unread("absent", "apt is not installed")
    return then(installed, lambda packages: next((one.upstream for one in packages if one.name == "apt"), none))


_Automatic = tuple["bool | Unread", "tuple[str, ...] | Unread", "tuple[str, ...] | Unread"]


def _automatic(source: Source, installed: "tuple[Package, ...] | Unread", *, is_dpkg: bool) -> _Automatic:
    if isinstance(installed, Unread):
        return installed, installed, installed
    names = {one.name for one in installed}
    if not is_dpkg:
        answer = read_automatic(source)
        return (answer, answer, answer) if isinstance(answer, Unread) else (*answer, ("*",))
    timer = source.readlink("/etc/systemd/system/apt-daily-upgrade.timer")
    if "unattended-upgrades" not in names or (not isinstance(timer, Unread) and timer == "/dev/null"):
        return False, (), ()
    if isinstance(timer, Unread) and timer.why not in NOT_THERE:
        return timer, timer, timer
    settings = read_apt_settings(source)
    return (settings, settings, settings) if isinstance(settings, Unread) else unattended(settings)
