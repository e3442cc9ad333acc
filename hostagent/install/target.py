"""The host that is changed: paths of its files for this process, and the command that runs a program in it."""

import contextlib
import os
import shutil

from hostagent.core.errors import HostagentError
from hostagent.core.smallfile import reason
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind
from hostagent.engine.target import Evidence
from hostagent.host.host_binaries import program
from hostagent.host.paths import Root

#: Where the host's programs are looked for, whatever the caller's PATH.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Seconds between SIGTERM and SIGKILL.
_KILL_AFTER_S = 30
#: How often a path is resolved again: another run makes and removes the same directories.
_MAX_ROUNDS = 10


class StrayLinkError(HostagentError):
    """A link that leads nowhere in the host's root: outside it may lead somewhere."""


class Target:
    """`path`: of its root, for this process, with no link in it."""

    def __init__(self, place: Evidence) -> None:
        self.place = place
        self.kind: Kind = "image" if place.root else "host-root" if place.host_root else "live"
        self.root = Root(os.path.abspath(place.root or place.host_root or "/"))
        self.path = self.root.path
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise HostagentError(f"cannot read {self.path}: {reason(error)}", "Name a directory") from error
        #: One target has one, from wherever it is looked at.
        self.id = f"{found.st_dev:x}.{found.st_ino:x}"

    def directory(self, path: str) -> str:
        """As `inside`, for a directory that may not exist but must be no link that leads nowhere in the host's root."""
        return self.inside(f"{path.rstrip('/')}/.").removesuffix("/.")

    def inside(self, path: str) -> str:
        """The path of this process for `path` of the host: every link is resolved in the host's root, missing names stay.

        Raises ``StrayLinkError`` where a directory on the way is a link that leads nowhere, or no directory.
        """
        if self.path == "/":
            return os.path.realpath(path)
        for _ in range(_MAX_ROUNDS):
            there, missing = self._resolve(path)
            found = self.path + there
            first = os.path.join(found, missing[0]) if len(missing) > 1 else ""
            if os.path.islink(first):
                raise StrayLinkError(f"{path}: found {os.path.join(there, missing[0])}, a link that leads nowhere", "Remove that link")
            if not os.path.lexists(first):
                return os.path.join(found.rstrip("/") or "/", *missing)
        raise StrayLinkError(f"{path}: found {os.path.join(there, missing[0])}, wanted a directory that can be opened", "Look what it is")

    def _resolve(self, path: str) -> tuple[str, list[str]]:
        """Of the host: the part of `path` that is there, with every link on the way resolved, and the names behind it."""
        there, missing = path, list[str]()
        while True:
            with contextlib.suppress(OSError):
                return self.root.realpath(there), missing
            there, _, last = there.rstrip("/").rpartition("/")
            missing.insert(0, last)
            there = there or "/"

    def refused_program(self, name: str) -> str:
        """Why a program of the host is not run: users other than root may write it; "" where they may not, or it is missing."""
        found = program(self.root, name)
        return found.detail if isinstance(found, Unread) and found.why != "absent" else ""

    def enter(self, timeout_s: float) -> tuple[str, ...]:
        """The command prefix that runs a program in the host, with `timeout_s`."""
        limit = (_ours("timeout"), f"--kill-after={_KILL_AFTER_S}", f"{timeout_s:g}")
        if self.kind == "live":
            return limit
        if self.kind == "host-root" and self._is_of_first_process():
            spaces = (
                f"--{name}={self.path}/proc/1/ns/{file}"
                for name, file in (("mount", "mnt"), ("pid", "pid"), ("ipc", "ipc"), ("uts", "uts"))
            )
            root = f"--root={self.path}/proc/1/root"  # a process 1 that has changed its root is somewhere else in its mounts
            return (*limit, _ours("nsenter"), *spaces, root, "--")
        return (*limit, _ours("chroot"), self.path)

    def _is_of_first_process(self) -> bool:
        """Whether the root is that of its process 1, with namespaces that are then the host's: in them systemctl works."""
        with contextlib.suppress(OSError):
            return os.path.samefile(f"{self.path}/proc/1/root", self.path)
        return False


def _ours(name: str) -> str:
    """A program of the machine that runs hostagent."""
    found = shutil.which(name, path=PATH)
    if found is None:
        raise HostagentError(f"found no program {name}, wanted it to run programs of another root", f"Install {name}")
    return found
