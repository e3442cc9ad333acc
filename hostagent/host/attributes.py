"""Attributes of one sysfs directory as values on a tape.

A directory is opened once and each attribute relative to it, so that a host with hundreds of interfaces is read in milliseconds.
"""

import contextlib
import errno
import os
import stat
from typing import Any

from hostagent.core.unread import Unread
from hostagent.host.files import unread
from hostagent.host.paths import Root

#: Bytes of an attribute: the kernel returns at most a page.
_PAGE = 4096
#: Names in one directory: an interface has fewer.
_MOST_NAMES = 4096


def json_value(answer: Any) -> Any:
    """A value, or an ``Unread`` as JSON.

    >>> json_value("up"), json_value(Unread("denied", "mtu: permission denied"))
    ('up', {'unread': ['denied', 'mtu: permission denied']})
    """
    return {"unread": [answer.why, answer.detail]} if isinstance(answer, Unread) else answer


class Attributes(contextlib.AbstractContextManager["Attributes"]):
    """An open directory, for a ``with``. A failure is an ``Unread`` with the host's path."""

    def __init__(self, root: Root, path: str) -> None:
        """Raises ``OSError`` and ``ValueError``."""
        self.path = path
        self._descriptor = root.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def names(self) -> "frozenset[str]":
        """Raises ``OSError``."""
        with os.scandir(self._descriptor) as entries:
            return frozenset(entry.name for entry, _ in zip(entries, range(_MOST_NAMES), strict=False))

    def word(self, name: str, *, absent: "str | None" = None, invalid: "Unread | None" = None) -> "str | Unread":
        """The text of an attribute without white space around it; `absent` on ENOENT, `invalid` on EINVAL."""
        try:
            return self.text(name)
        except (OSError, ValueError) as error:
            return self._why(error, name, absent, invalid)

    def text(self, name: str) -> str:
        """The same; raises ``OSError`` and ``ValueError``."""
        opened = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._descriptor)
        try:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise OSError(errno.EIO, "no file")
            return os.read(opened, _PAGE).decode("utf-8", "replace").strip()
        finally:
            os.close(opened)

    def link(self, name: str, *, absent: "str | None" = None) -> "str | Unread":
        """The text of a symbolic link."""
        try:
            return os.readlink(name, dir_fd=self._descriptor).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        except (OSError, ValueError) as error:
            return self._why(error, name, absent, None)

    def _why(self, error: "OSError | ValueError", name: str, absent: "str | None", invalid: "Unread | None") -> "str | Unread":
        number = error.errno if isinstance(error, OSError) else 0
        if number == errno.ENOENT and absent is not None:
            return absent
        return invalid if number == errno.EINVAL and invalid is not None else unread(error, f"{self.path}/{name}")
