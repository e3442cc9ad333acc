"""Every package of the host: whether it is held, and whether it was installed as a dependency."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, then
from hostagent.domains.packages.read_dpkg import Record, read_database
from hostagent.domains.packages.read_marks import Marks, plain_stanzas, read_marks
from hostagent.domains.packages.read_rpm import read_rpm
from hostagent.domains.packages.read_version_locks import covers
from hostagent.facts.installation import InstalledPackage
from hostagent.facts.packages import Packages, VersionLock
from hostagent.host.source import Source

_FIELDS = ("Package", "Status", "Version", "Architecture")
_MOST = 50_000
_ALL = Keep("dpkg", (*_FIELDS, *(f"*.{field}" for field in _FIELDS)))


class PackageEntry(NamedTuple):
    """One package in a package database."""

    name: str
    version: str
    arch: str
    state: str
    held: bool


def parse_all_status(text: str) -> tuple[PackageEntry, ...]:
    """Every package in /var/lib/dpkg/status that still has files on disk; raises ``ValueError``.

    >>> for row in parse_all_status('''Package: bash
    ... Status: hold ok installed
    ... Architecture: amd64
    ... Version: 5.2-3
    ...
    ... Package: old
    ... Status: deinstall ok config-files
    ... Architecture: all
    ... Version: 1
    ... '''):
    ...     print(*row)
    bash 5.2-3 amd64 installed True
    old 1 all config-files False
    """
    rows: list[PackageEntry] = []
    for fields in plain_stanzas(text, _FIELDS):
        rows += _row(fields)
        if len(rows) > _MOST:
            raise ValueError(f"found more than {_MOST} packages")
    return tuple(rows)


def _row(fields: "dict[str, str]") -> Iterator[PackageEntry]:
    name = fields.get("package", "")
    words = fields.get("status", "").split()
    if not name or len(words) != 3:
        raise ValueError(f"package {name[:80]!r}: found the status {fields.get('status', '')[:80]!r}, wanted three words")
    want, error, state = words
    if state != "not-installed":
        state = state if error == "ok" else f"{state} {error}"
        yield PackageEntry(name, fields.get("version", ""), fields.get("architecture", ""), state, want == "hold")


def read_all_packages(source: Source, packages: "Packages | Unread") -> "tuple[InstalledPackage, ...] | Unread":
    if isinstance(packages, Unread):
        return packages
    if isinstance(packages.manager, Unread):
        return packages.manager
    is_dpkg = packages.manager == "dpkg"
    rows = read_database(source, _ALL, parse_all_status) if is_dpkg else _rpm(source, packages)
    marks = read_marks(source, is_dpkg=is_dpkg)
    return then(rows, lambda found: _with_marks(found, marks))


def _with_marks(rows: tuple[PackageEntry, ...], marks: "Marks | Unread") -> tuple[InstalledPackage, ...]:
    found = (InstalledPackage(*row, automatic=then(marks, lambda one, row=row: one.has(row.name, row.arch))) for row in rows)  # type: ignore[misc]
    return tuple(sorted(found, key=lambda one: (one.name, one.arch)))


def _rpm(source: Source, packages: Packages) -> "tuple[PackageEntry, ...] | Unread":
    records = read_rpm(source, ("",))
    if isinstance(records, Unread):
        return records
    if isinstance(packages.locks, Unread):
        return packages.locks
    is_held = _lock_matcher(packages.locks)
    return tuple(PackageEntry(one.name, one.version, one.arch, one.state, is_held(one)) for one in records)


def _lock_matcher(locks: tuple[VersionLock, ...]) -> "Callable[[Record], bool]":
    """Returns the function that decides if a lock covers a package; locks without a pattern are looked up by name."""
    named: dict[str, list[VersionLock]] = {}
    patterns = []
    for lock in locks:
        if re.search(r"[*?\[]|^src:", lock.package):
            patterns.append(lock)
        else:
            named.setdefault(lock.package, []).append(lock)
    return lambda record: any(covers(lock, record) for lock in (*named.get(record.name, ()), *patterns))
