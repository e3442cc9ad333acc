"""The directories that slurmd and its jobs write to: SlurmdSpoolDir and TmpFS (slurm.conf(5))."""

# slurm.conf is read with a limit of its own, so that it is another question than that of the node's other settings. A copy below
# /run/slurm/conf is there only on a configless node; an `Include` that cannot be read leaves the built-in directory.

from collections.abc import Callable
from posixpath import dirname, join
from typing import Any, NamedTuple

from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, then
from hostagent.domains.slurm.conf import parse_conf
from hostagent.domains.slurm.read_conf import LIMIT
from hostagent.facts.slurm import SlurmNode
from hostagent.host.source import Source

_MOST_FILES = 20
_KEEP = Keep("slurm.conf", ("include", "slurmdspooldir", "tmpfs"))
_SPOOL, _SCRATCH = "/var/spool/slurmd", "/tmp"  # noqa: S108  Slurm's own default


class Spool(NamedTuple):
    """Absolute paths."""

    spool: str
    scratch: str


def read_spool(source: Source, known: Callable[[type], Any]) -> "Spool | Unread":
    """Unread where slurm.conf is there and cannot be read; the built-in directories without one."""
    path = then(known(SlurmNode), lambda one: one.conf)
    if isinstance(path, Unread):
        return Spool(_SPOOL, _SCRATCH) if path.why == "absent" else path
    values = _values(source, path)
    if isinstance(values, Unread):
        return values
    host = source.host()
    name = "" if isinstance(host, Unread) else str(host.get("hostname", ""))
    return Spool(_named(values.get("slurmdspooldir", ""), name) or _SPOOL, _named(values.get("tmpfs", ""), name) or _SCRATCH)


def _values(source: Source, main: str) -> "dict[str, str] | Unread":
    """The last value of each key, in the files that the main one includes, too."""
    found: dict[str, str] = {}
    pending, seen = [main], 0
    while pending and seen < _MOST_FILES:
        path, seen = pending.pop(), seen + 1
        text = source.text(path, LIMIT, keep=_KEEP)
        if isinstance(text, Unread):
            if path == main:
                return text
            continue
        for line in parse_conf(text).lines:
            pending += [join(dirname(path), value) for key, value in line if key == "include" and "%" not in value]
            found |= {key: value for key, value in line if key in _KEEP.names}
    return found


def _named(path: str, host: str) -> str:
    """With the node's name in it; "" for what is no absolute path.

    >>> _named("/var/spool/slurmd.%n", "n7.example"), _named("spool", "n7")
    ('/var/spool/slurmd.n7', '')
    """
    if not path.startswith("/") or (not host and "%" in path):
        return ""
    return path.replace("%h", host.partition(".")[0]).replace("%n", host.partition(".")[0]).rstrip("/")
