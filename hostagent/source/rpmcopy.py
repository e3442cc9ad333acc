"""Asking rpm about a private copy of a database: even to read one, rpm makes files beside it."""

import contextlib
import os
import shutil
import tempfile

from hostagent.facts.unread import Unread
from hostagent.source.base import MIB, Answer
from hostagent.source.files import Files
from hostagent.source.programs import run

#: The database of a host with every package of its distribution is a quarter of this.
_LIMIT = 512 * MIB
_SQLITE = "rpmdb.sqlite"


def would_write(files: Files, database: str) -> bool:
    """Whether rpm, run where the database is, makes files: SQLite does beside one in WAL mode that nobody has opened yet."""
    return isinstance(files.stat(f"{database}/{_SQLITE}"), dict) and any(
        isinstance(files.stat(f"{database}/{_SQLITE}{suffix}"), Unread) for suffix in ("-shm", "-wal")
    )


def run_on_copy(files: Files, argv: tuple[str, ...], timeout_s: float) -> Answer:
    """``rpm --dbpath DATABASE …`` by this machine's rpm, with the copy in the place of the database."""
    program, option, database, *arguments = argv
    try:
        with tempfile.TemporaryDirectory(prefix=_prefix(os.getpid())) as copy:
            fault = _copy(files, database, copy)
            return fault if fault is not None else run((program, option, copy, *arguments), timeout_s)
    except OSError as error:
        return Unread("error", f"cannot copy {database} to a temporary directory: {error.strerror}")


def remove_left(pid: int) -> None:
    """Removes what a process that was killed while rpm worked has left. Of its own user's: others may use such names as well."""
    with contextlib.suppress(OSError):
        for name in os.listdir(tempfile.gettempdir()):
            path = os.path.join(tempfile.gettempdir(), name)
            if name.startswith(_prefix(pid)) and os.lstat(path).st_uid == os.geteuid():
                shutil.rmtree(path, ignore_errors=True)


def _prefix(pid: int) -> str:
    return f"hostagent-{pid}-"


def _copy(files: Files, database: str, copy: str) -> "Unread | None":
    names = files.list(database)
    if isinstance(names, Unread):
        return names
    for name in names:
        # SQLite makes the index of its log (-shm) anew; Berkeley DB's regions (__db.*) are of the processes that use the original
        if name.startswith((".", "__db.")) or name.endswith("-shm") or _kind(files, f"{database}/{name}") != "file":
            continue
        content = files.read(f"{database}/{name}", str(_LIMIT))
        if isinstance(content, Unread):
            return content
        with open(os.path.join(copy, name), "wb") as stream:
            stream.write(content)
    return None


def _kind(files: Files, path: str) -> str:
    found = files.stat(path)
    return "" if isinstance(found, Unread) else str(found["kind"])
