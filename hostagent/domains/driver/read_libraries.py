"""The driver's user libraries: those that the dynamic linker finds, and other copies in the library directories."""

# A library counts if a loader can load it: an ELF file of the host's architecture with all segments within the file. Its version
# is from its name.

import re
from collections.abc import Callable
from typing import Any

from hostagent.core.answers import Elf
from hostagent.core.tables import libraries
from hostagent.core.unread import Unread, then
from hostagent.domains.driver.read_ld_cache import read_ldcache
from hostagent.domains.packages.read_packages import owners
from hostagent.facts.driver import Library
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform
from hostagent.host.source import Source
from hostagent.host.values import names_in

SONAMES = ("libcuda.so.1", "libnvidia-ml.so.1")
_DIRECTORIES = (*libraries.SYSTEM, *libraries.LOCAL, *libraries.OF_THE_DRIVER)
_FILE = re.compile(r"lib(cuda|nvidia-ml)\.so\.(\d+(?:\.\d+){1,3})")


def read_libraries(source: Source, known: Callable[[type], Any]) -> "tuple[Library, ...] | Unread":
    """The entries of the linker's cache in its order, then other versioned files; one entry per file."""
    entries = read_ldcache(source, SONAMES)
    if isinstance(entries, Unread):
        return entries
    found: dict[str, tuple[str, bool]] = {}
    for entry in entries:
        path = source.realpath(entry.path)
        if not isinstance(path, Unread):
            found.setdefault(path, (entry.soname, True))
        elif path.why != "absent":
            return path
    of_platform = then(known(Platform), lambda platform: platform.library_directories)
    if isinstance(of_platform, Unread):
        return of_platform
    for directory in dict.fromkeys((*_DIRECTORIES, *of_platform)):
        copies = _copies(source, directory)
        if isinstance(copies, Unread):
            return copies
        for path, soname in copies.items():
            found.setdefault(path, (soname, False))
    packages = owners(source, known(Packages), found) if found else {}
    host = source.host()
    machine = 0 if isinstance(host, Unread) else libraries.MACHINES.get(host.get("machine", ""), 0)
    return tuple(
        Library(soname, path, parse_version(path), cached, packages[path], _fault(source, path, machine))
        for path, (soname, cached) in found.items()
    )


def _fault(source: Source, path: str, machine: int) -> "str | Unread":
    """`machine`: the host's ELF machine, 0 if unknown."""
    return then(source.elf(path), lambda file: fault_of(file, machine))


def fault_of(file: Elf, machine: int) -> str:
    """
    Why a library cannot be loaded, "" if it can.

    >>> fault_of(Elf(0, False), 62), fault_of(Elf(62, False), 62), fault_of(Elf(3, True), 62), fault_of(Elf(62, True), 62)
    ('no library', 'cut short', 'of another architecture', '')
    """
    if not file.machine:
        return "no library"
    if file.machine != (machine or file.machine):
        return "of another architecture"
    return "" if file.whole else "cut short"


def _copies(source: Source, directory: str) -> "dict[str, str] | Unread":
    """Path to soname of the versioned files in one directory; most hosts have two or three of these directories."""
    names = names_in(source, directory)
    if isinstance(names, Unread):
        return names
    found: dict[str, str] = {}
    for match in filter(None, map(_FILE.fullmatch, names)):
        path = source.realpath(f"{directory}/{match[0]}")
        if not isinstance(path, Unread):
            found[path] = f"lib{match[1]}.so.1"
        elif path.why != "absent":
            return path
    return found


def parse_version(path: str) -> str:
    """
    The version in a library's file name, "" for none.

    >>> parse_version("/usr/lib64/libnvidia-ml.so.580.159.03"), parse_version("/usr/lib64/libcuda.so.580.142")
    ('580.159.03', '580.142')
    """
    match = _FILE.fullmatch(path.rpartition("/")[2])
    return match[2] if match else ""
