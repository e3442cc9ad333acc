"""Reads of several readers: a line, a number, names, the time of a file."""

from hostagent.core.parsing import parse_number
from hostagent.core.retention import WHOLE
from hostagent.core.unread import Unread, need, then
from hostagent.host.source import Source


def line_in(source: Source, path: str, *, absent: "str | None" = None) -> "str | Unread":
    """A file of one line, as procfs and sysfs have them, without white space around it."""
    return then(source.text(path, keep=WHOLE, absent=absent), str.strip)


def number_in(source: Source, path: str) -> "int | Unread":
    """A file that holds one decimal number, which may be negative."""
    return then(line_in(source, path), lambda text: parse_number(text, path))


def names_in(source: Source, directory: str) -> "tuple[str, ...] | Unread":
    """The names in a directory; () if it does not exist, or in an image if only a running host has it."""
    names = source.listdir(directory, absent=())
    return () if isinstance(names, Unread) and names.why == "not-running" else names


def paths_in(source: Source, directory: str) -> tuple[str, ...]:
    """The paths in a directory, () if it does not exist; raises ``UnreadError`` if it cannot be read."""
    return tuple(f"{directory}/{name}" for name in need(source.listdir(directory, absent=())))


def modified_at(source: Source, path: str) -> "float | Unread":
    """Seconds since the epoch."""
    return then(source.stat(path), lambda found: found.mtime)
