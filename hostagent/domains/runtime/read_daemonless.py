"""Where programs that start containers without a daemon keep images: podman as root, and Enroot."""

# Both files are questions that older recordings lack: there nothing is known of these directories, and nothing is judged.

import re

from hostagent.core.answers import KIB
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread
from hostagent.domains.runtime.read_settings import graphroot
from hostagent.domains.runtime.tables.data import DATA, ENROOT, ENROOT_PATHS
from hostagent.host.source import Source

NOT_ON_TAPE = ("not-recorded", "older-recording")
_BYTES = 64 * KIB
_KEEP = Keep("settings", ENROOT_PATHS)
_LINE = re.compile(r"[ \t]*(ENROOT_[A-Z_]+)[ \t=]+(\S.*?)[ \t]*")


def podman_store(source: Source) -> "tuple[str, ...] | Unread":
    """Where podman keeps images and containers of root; () where a recording lacks it."""
    found = graphroot(source)
    if isinstance(found, Unread):
        return () if found.why in NOT_ON_TAPE else found
    return (found or DATA["crio"],)


def enroot_directories(source: Source) -> "tuple[str, ...] | Unread":
    """The directories that enroot.conf names for images, containers and what is unpacked: () where these are in users' homes."""
    text = source.text(ENROOT, _BYTES, keep=_KEEP, absent="")
    if isinstance(text, Unread):
        return () if text.why in NOT_ON_TAPE else text
    return parse_enroot(text)


def parse_enroot(text: str) -> tuple[str, ...]:
    r"""Absolute directories, as far as they are the same for every user; the first of two lines of a name counts.

    >>> parse_enroot("ENROOT_DATA_PATH /raid/enroot/user-$(id -u)\nENROOT_CACHE_PATH=${HOME}/cache\n#ENROOT_TEMP_PATH /tmp\n")
    ('/raid/enroot',)
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        named = _LINE.fullmatch(line)
        if named and named[1] in ENROOT_PATHS:
            found.setdefault(named[1], _fixed(named[2].strip("\"'")))
    return tuple(dict.fromkeys(path for path in found.values() if path))


def _fixed(path: str) -> str:
    """The part of a path before the first name that the shell makes.

    >>> _fixed("/raid/$USER/data"), _fixed("/raid/data/"), _fixed("$HOME/data"), _fixed("/$USER")
    ('/raid', '/raid/data', '', '')
    """
    start = re.split(r"[$`]", path, maxsplit=1)[0]
    fixed = path if start == path else start.rpartition("/")[0]
    return fixed.rstrip("/") if fixed.startswith("/") else ""
