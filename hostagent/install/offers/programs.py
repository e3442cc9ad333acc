"""Programs of a target that are run in its room: only those that nobody but root may write."""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hostagent.deadline import Deadline
from hostagent.facts.unread import Unread
from hostagent.install.offers.room import Room
from hostagent.source.foreign import program
from hostagent.source.paths import Root

_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")


class Completed(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


class Programs:
    """Programs of the target in `room`, until `deadline`."""

    def __init__(self, room: Room, deadline: Deadline) -> None:
        self._room = room
        self._deadline = deadline
        self._environment = environment(os.environ)
        self.read = room.read

    def run(self, argv: tuple[str, ...], seconds: float) -> "Completed | Unread":
        where = program(self._room.root, argv[0])
        if isinstance(where, Unread):
            return where
        seconds = min(seconds, self._deadline.left_s)
        if seconds <= 0:
            return Unread("timeout", f"{argv[0]}: the package manager got {self._deadline.seconds:g} s for all its answers")
        found = self._room.run((where, *argv[1:]), seconds, self._environment)
        return found if isinstance(found, Unread) else Completed(found["exit_code"], found["stdout"], found["stderr"])


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """What a package manager is run with. The way out of this machine's network is the one thing that it gets from hostagent's own."""
    proxies = {name: own[name] for one in _PROXIES for name in (one, one.upper()) if own.get(name)}
    return {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "TMPDIR": "/var/tmp", **proxies}  # noqa: S108  in memory


def untrusted(root: Root, paths: Iterable[str]) -> str:
    """Why the first of those that are there must not be obeyed; "" where nobody but root may write them."""
    for path in paths:
        if root.exists(path) and (why := root.untrusted(path)):
            return why
    return ""
