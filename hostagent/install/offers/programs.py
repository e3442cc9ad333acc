"""Runs programs of a target in its room: only those that root alone may write."""

import os
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import unquote

from hostagent.core.deadline import Deadline
from hostagent.core.secret.forms import REMOVED
from hostagent.core.unread import Unread
from hostagent.host.host_binaries import program
from hostagent.install.offers.room import Room

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
        self._secrets = tuple(secrets(self._environment.values()))
        self.read = room.read

    def run(self, argv: tuple[str, ...], seconds: float, more: "Mapping[str, str]" = MappingProxyType({})) -> "Completed | Unread":
        """`more`: of the environment."""
        where = program(self._room.root, argv[0])
        if isinstance(where, Unread):
            return where
        seconds = min(seconds, self._deadline.left_s)
        if seconds <= 0:
            return Unread("timeout", f"{argv[0]}: the package manager got {self._deadline.seconds:g} s for all its answers")
        found = self._room.run((where, *argv[1:]), seconds, {**self._environment, **more})
        return (
            found if isinstance(found, Unread) else Completed(found["exit_code"], *map(self._cleaned, (found["stdout"], found["stderr"])))
        )

    def _cleaned(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, REMOVED)
        return text


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """What a package manager is run with. The way out of this machine's network is the one thing that it gets from hostagent's own."""
    proxies = {name: own[name] for one in _PROXIES for name in (one, one.upper()) if own.get(name)}
    return {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "TMPDIR": "/var/tmp", **proxies}  # noqa: S108  in memory


def secrets(urls: Iterable[str]) -> Iterator[str]:
    """Passwords of proxies, as they are written there and as they are meant.

    >>> [*secrets(["http://bob:p%40ss@proxy:3128", "localhost,10.0.0.0/8"])]
    ['p%40ss', 'p@ss']
    """
    for url in urls:
        password = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
        yield from dict.fromkeys(filter(None, (password, unquote(password))))
