"""Listening unix sockets at paths that only root can create."""

# The kernel lists the path that a program gave, in any namespace; the list is read in pieces. Each directory is checked once,
# and only if its parent is root's.

import os
import re
import stat
from collections.abc import Container, Iterator
from typing import Any

from hostagent.core.answers import MIB, Answer
from hostagent.core.unread import Unread
from hostagent.host.files import Files, unread
from hostagent.host.paths import Root

_LIST = "/proc/1/net/unix"
#: With __SO_ACCEPTCON in the flags: it accepts connections (proc_net(5)).
_LISTENING = re.compile(r"^\S+ +\S+ +\S+ +00010000 +\S+ +\S+ +\S+ (/[^\n]*)", re.MULTILINE)
#: Paths that no daemon uses: with empty, . or .. parts (any number), and in directories without sockets.
_NO_PLACE = re.compile(r"/\.{0,2}(?:/|\Z)|\A/(?:proc|sys|dev|usr/(?!local/)|bin|sbin|boot|lib\w*)/")
_DEEPEST = 12
_UNSEEN = Unread("denied", "its directory may not be looked at")


def sockets(root: Root) -> Answer:
    """The listening unix sockets with a file of root, of the network namespace of process 1: path, and ``unseen``, true, where the file
    may not be read.

    The kernel lists the path that a program gave, in its own root and mount namespace. So there has to be a file: a socket and no link,
    root's, in directories that only root writes to. Files of other users are not touched; their paths are decided by cached directories.
    """
    opened = Files(root).descriptor(_LIST)
    if isinstance(opened, Unread):
        return Unread("denied", f"{_LIST}: process 1 is not shown") if opened.why == "absent" else opened
    with open(opened, "rb", buffering=0) as stream:
        if not _is_root_seen(root):
            return Unread("denied", "root's files look like nobody's from this user namespace")
        folders = _Folders(root)
        rows: dict[str, dict[str, Any]] = {}
        for text in _pieces(stream.fileno()):
            for path in parse_listening(text):
                if path not in rows and (row := _row(root, path, folders)):
                    rows[path] = row
    return [rows[path] for path in sorted(rows)]


def _pieces(descriptor: int) -> Iterator[str]:
    """The list in pieces of whole lines: any user can make it long."""
    rest = b""
    while block := os.read(descriptor, MIB):
        whole, newline, rest = (rest + block).rpartition(b"\n")
        yield (whole + newline).decode("utf-8", "replace")
    yield rest.decode("utf-8", "replace")


class _Any:
    """The names in a directory that may be entered and not listed."""

    def __contains__(self, name: object) -> bool:
        return True


class _Folders:
    """Directories that only root writes to, each checked once, and only if its parent is one."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._names: dict[str, Container[str] | Unread | None] = {}

    def has(self, path: str) -> "bool | Unread":
        """Whether `path` exists and only root writes to all directories on the way; *denied* where that cannot be read."""
        folder, _, name = path.rpartition("/")
        names = self._names_in(folder)
        if isinstance(names, Unread) or names is None:
            return False if names is None else names
        return name in names

    def _names_in(self, folder: str) -> "Container[str] | Unread | None":
        """None where other users may write to it, or it does not exist."""
        if folder not in self._names:
            above = self.has(folder) if folder else True
            self._names[folder] = self._look(folder or "/") if above is True else above or None
        return self._names[folder]

    def _look(self, folder: str) -> "Container[str] | Unread | None":
        try:
            if self._root.untrusted(folder):
                return None
        except (OSError, ValueError) as error:
            return _UNSEEN if unread(error, folder).why == "denied" else None
        names = Files(self._root).list(folder)
        if isinstance(names, Unread):
            return None if names.why == "absent" else _Any()
        return frozenset(names)


def _row(root: Root, path: str, folders: _Folders) -> "dict[str, Any]":
    try:
        is_there = folders.has(path)
        if isinstance(is_there, Unread):
            return {"path": path, "unseen": True}
        if not is_there:
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
    """Paths of /proc/net/unix with a socket that accepts connections, without `_NO_PLACE`.

    >>> lines = [f"{at}: 00000002 00000000 00010000 0001 01 12 {path}" for at, path in enumerate(("/run/a.sock", "/run/../a", "@b"))]
    >>> parse_listening(chr(10).join(["Num RefCount Protocol Flags Type St Inode Path", *lines]))
    ['/run/a.sock']
    """
    paths = {found[1] for found in _LISTENING.finditer(text)}
    return sorted(path for path in paths if path.count("/") <= _DEEPEST and not _NO_PLACE.search(path))
