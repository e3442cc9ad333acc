"""Listening unix sockets: those alone that only root can have put where they are."""

import os
import stat
from collections.abc import Callable
from functools import cache
from typing import Any

from hostagent.facts.unread import Unread
from hostagent.source.base import MIB, Answer
from hostagent.source.files import Files, unread
from hostagent.source.paths import Root

_LIST = "/proc/1/net/unix"
_LIST_BYTES = 16 * MIB


def sockets(root: Root) -> Answer:
    """The listening unix sockets whose file is root's, of the network namespace of process 1: path, and ``unseen``, true, where the file
    may not be looked at.

    The kernel lists the path that a program named, wherever that led in a root and a mount namespace of the program's own: so a file has to
    be there, a socket and no link, root's, in directories that only root writes to. Files of others are not looked at.
    """
    text = Files(root).read(_LIST, str(_LIST_BYTES))
    if isinstance(text, Unread):
        return Unread("denied", f"{_LIST}: process 1 is not shown") if text.why == "absent" else text
    if not _is_root_seen(root):
        return Unread("denied", "root's files look like nobody's from this user namespace")
    is_roots = cache(lambda folder: not root.untrusted(folder or "/"))
    rows = (_row(root, path, is_roots) for path in parse_listening(text.decode("utf-8", "replace")))
    return [row for row in rows if row]


def _row(root: Root, path: str, is_roots: "Callable[[str], bool]") -> "dict[str, Any]":
    try:
        if not path.startswith("/") or not is_roots(path.rpartition("/")[0]):
            return {}
        place = root.open(path, os.O_PATH, follow=False)
        found = os.fstat(place)
        os.close(place)
    except (OSError, ValueError) as error:
        return {"path": path, "unseen": True} if unread(error, path).why == "denied" else {}
    return {"path": path} if stat.S_ISSOCK(found.st_mode) and found.st_uid == 0 else {}


def _is_root_seen(root: Root) -> bool:
    place = root.open("/", os.O_PATH)
    found = os.fstat(place)
    os.close(place)
    return found.st_uid == 0


def parse_listening(text: str) -> "list[str]":
    """Paths of /proc/net/unix whose socket accepts connections: __SO_ACCEPTCON in the flags (proc_net(5)).

    >>> parse_listening(f"Num RefCount Protocol Flags Type St Inode Path{chr(10)}0: 00000002 00000000 00010000 0001 01 12 /run/a.sock")
    ['/run/a.sock']
    """
    rows = (line.split(None, 7) for line in text.split("\n")[1:])
    return sorted({row[7] for row in rows if len(row) == 8 and row[3] == "00010000"})
