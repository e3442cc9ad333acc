"""Where a job finds NCCL and its plug-ins: in the loader's search path, known directories and Python packages."""

# An installation in /opt is one with bin/python3, which is asked first: /opt has directories that only their owner may list
# (containerd's are 0711). At most 2,000 directories and 500 names; beyond that the libraries are unread. They are read last: a
# file system of the network may hang there.

import fnmatch
import re
from collections.abc import Iterator
from typing import NamedTuple

from hostagent.core.parsing import Allowance
from hostagent.core.tables.libraries import LOCAL, SYSTEM
from hostagent.core.unread import NOT_THERE, Unread, need
from hostagent.domains.driver.read_ld_cache import read_ldcache
from hostagent.domains.nccl.read_writers import Writers
from hostagent.domains.nccl.tables import libraries as known
from hostagent.facts.nccl import Place
from hostagent.host.source import Source
from hostagent.host.values import names_in

#: Limits of directories and files: an ordinary host has thirty, and three.
_MOST_DIRECTORIES, _MOST_FILES = 2000, 500
#: Of the C library itself; on Debian those of `SYSTEM` are among them, and the linker's cache has them all.
DEFAULT = (*SYSTEM, "/lib64", "/usr/lib", "/lib")
#: Where the loader finds a library by its name alone.
LOADERS: tuple[Place, ...] = ("LD_LIBRARY_PATH", "linker")


class Candidate(NamedTuple):
    """A file by one of its names."""

    path: str
    place: Place
    real: str  # without links

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def candidates(source: Source, search: "tuple[str, ...]", writers: "Writers | None") -> "Iterator[Candidate]":
    """Every name under which there is a library or a plug-in, in the order of the search; `search` is LD_LIBRARY_PATH.

    With `writers` those alone that only root may write. Raises ``UnreadError`` where a directory could not be read, and where there are
    too many files.
    """
    looks = _Looks(source, writers)
    for directory in search:
        yield from looks.at(directory, "LD_LIBRARY_PATH")
    for entry in need(read_ldcache(source, known.CACHED)):
        yield from looks.of(entry.path, "linker")
    for directory in SYSTEM:
        yield from looks.at(directory, "linker")
    for directory in (*LOCAL, *known.DIRECTORIES):
        for found in looks.matching(directory):
            yield from looks.at(found, "directory")
    for packages in _packages(looks):
        yield from looks.at(f"{packages}/{known.IN_PACKAGES}", "python")
        yield from looks.of(f"{packages}/{known.IN_TORCH}", "python")


def _packages(looks: "_Looks") -> Iterator[str]:
    """The directories of Python's packages."""
    for pattern in known.PACKAGES:
        yield from looks.matching(pattern)
    for pattern in known.INSTALLATIONS:
        for installation in looks.matching(pattern):
            # first: /opt also has directories that are not readable by all
            if looks.has(f"{installation}/bin/python3"):
                yield from looks.matching(f"{installation}/lib/python3.*/site-packages")


class _Looks:
    """Lists directories, bounded; not those that others than root may write, which could make the search endless."""

    def __init__(self, source: Source, writers: "Writers | None") -> None:
        self._source, self._writers = source, writers
        self._directories = Allowance("directories that may hold NCCL", _MOST_DIRECTORIES)
        self._files = Allowance("files with names of NCCL's", _MOST_FILES)

    def at(self, directory: str, place: Place) -> Iterator[Candidate]:
        """The files with names of NCCL's in one directory."""
        for name in self._names(directory):
            if known.LIBRARY.fullmatch(name) or known.PLUGIN.fullmatch(name):
                yield from self.of(f"{directory}/{name}", place)

    def of(self, path: str, place: Place) -> Iterator[Candidate]:
        """The file of a name; a link that leads nowhere is none."""
        directory, _, name = path.rpartition("/")
        if (known.LIBRARY.fullmatch(name) or known.PLUGIN.fullmatch(name)) and self._counts(directory):
            self._files.take(1)
            real = self._source.realpath(path)
            if isinstance(real, Unread):
                need(None if real.why in NOT_THERE else real)
            elif self._counts(real):
                yield Candidate(path, place, real)

    def has(self, path: str) -> bool:
        """Whether it exists and counts."""
        self._directories.take(1)
        return self._counts(path.rpartition("/")[0]) and need(self._source.exists(path))

    def matching(self, pattern: str) -> Iterator[str]:
        """The paths that a pattern with * in its parts may mean; those after the last * are not asked for."""
        before, star, _ = pattern.partition("*")
        if not star:
            yield pattern
            return
        parent, _, start = before.rpartition("/")
        part, slash, rest = pattern[len(parent) + 1 :].partition("/")
        wanted = re.compile(fnmatch.translate(part))
        for name in self._names(parent):
            if name.startswith(start) and wanted.match(name):
                yield from self.matching(f"{parent}/{name}{slash}{rest}")

    def _names(self, directory: str) -> tuple[str, ...]:
        self._directories.take(1)
        return need(names_in(self._source, directory)) if self._counts(directory) else ()

    def _counts(self, path: str) -> bool:
        return self._writers is None or self._writers.is_roots(path)
