"""What a directory cannot hold, said for it: the clock, sizes of file systems, answers of netlink and of programs."""

import contextlib
from collections.abc import Iterator
from typing import Any

from hostagent.core.answers import Answer
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind
from hostagent.host.source import Backend
from tests.judged import live
from tests.trees.tree import NOW, Tree

_GIB = 1024**3
_STUB = 62  # x86-64
#: adjtimex(2): STA_PLL and STA_NANO; STA_UNSYNC is not set.
_SYNCHRONISED = 0x2001
#: Mount point to (mount id, total, free bytes).
_DISKS = {"/": (1, 440 * _GIB, 300 * _GIB), "/dev/shm": (2, 1000 * _GIB, 1000 * _GIB)}
#: Of each volume that a tree says nothing else of (`Tree.volumes`).
_VOLUME = {"total_bytes": 440 * _GIB, "free_bytes": 300 * _GIB, "total_inodes": 29_000_000, "free_inodes": 25_000_000}


class Staged:
    """A backend over a tree: everything is asked of `backend` but what depends on the machine that holds the tree."""

    def __init__(self, backend: Backend, tree: Tree) -> None:
        self._backend = backend
        self._tree = tree

    @property
    def kind(self) -> Kind:
        return self._backend.kind

    def ask(self, method: str, *arguments: str) -> "Answer | Unread":
        if method == "run" and (self.kind != "image" or arguments[0] == "rpm"):
            return self._run(arguments)
        if method == "network" and (told := self._told_by_netlink(*arguments)) is not None:
            return told
        answer = self._backend.ask(method, *arguments)
        if isinstance(answer, Unread):
            return answer
        if method == "elf" and answer["machine"] == _STUB and self._tree.arch == "aarch64":
            return {**answer, "machine": 183}  # the stub of NVML is loaded here, whatever the tree is
        if method == "host":
            return {**answer, "now": float(NOW), "uid": 0}
        if method == "adjtimex":
            return _SYNCHRONISED
        if method == "statvfs":
            mount_id, total, free = _DISKS["/dev/shm" if arguments[0] == "/dev/shm" else "/"]
            return {"total_bytes": total, "free_bytes": free, "free_inodes": 25_000_000, "mount_id": mount_id}
        if method == "volume":
            return {**_VOLUME, **self._tree.volumes.get(arguments[0], {})}
        return _settled(answer) if method == "stat" else answer

    def _told_by_netlink(self, question: str, name: str = "") -> "Answer | None":
        """Made up from linux/dcbnl.h and linux/if_link.h: no card with Data Center Bridging was there to be asked."""
        if question == "dcb":
            return self._tree.bridging.get(name)
        return self._tree.kinds if question == "kinds" and self.kind != "image" else None

    def _run(self, argv: tuple[str, ...]) -> "Answer | Unread":
        for known, output in self._tree.programs.items():
            if argv[: len(known)] == known:
                return {"exit_code": 0, "stdout": output, "stderr": ""}
        return Unread("absent", f"no program {argv[0]}")


def _settled(answer: "dict[str, Any]") -> "dict[str, Any]":
    """Size and time of a directory are those of the file system that holds the tree."""
    return {**answer, "size": 4096, "mtime": float(NOW)} if answer["kind"] == "dir" else answer


@contextlib.contextmanager
def stage(tree: Tree, kind: Kind = "host-root") -> Iterator[Staged]:
    """The tree as a live host, with its workers running."""
    with live(tree.root, kind, tree.kernel if kind == "image" else "") as backend:
        yield Staged(backend, tree)
