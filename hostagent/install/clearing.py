"""Writes an administrator's acknowledgement of faults of this boot, which every pass reads: `hostagent.domains.gpu.read_cleared`."""

import contextlib
import json
import os
import stat
from collections.abc import Iterator

from hostagent.core import lockfile
from hostagent.core.errors import HostagentError
from hostagent.core.filewrite import deliver
from hostagent.core.smallfile import read_small, reason
from hostagent.core.typed import plain
from hostagent.core.unread import Unread
from hostagent.domains.gpu.read_cleared import MOST, PATH, SCHEMA_VERSION, Cleared, parse_cleared
from hostagent.facts.gpu import Clearing
from hostagent.install.target import Target

_LIMIT = 64 * 1024
_OTHERS_WRITE = 0o022
#: In the same directory.
LOCK = "events.lock"


def add(target: Target, boot_id: str, clearing: Clearing, ends: float) -> None:
    """Add it to those of this boot, atomically, readable by all users.

    Raises ``HostagentError``, also where another process that does the same has not ended by `ends` on the monotonic clock.
    """
    path = target.inside(PATH)
    try:
        with _exclusive(os.path.dirname(path), ends):
            words = (*_within_limit(_before(path, boot_id), clearing), clearing)
            if len(words) > MOST:
                found = f"found {len(words) - 1} clearings of this boot, wanted fewer than {MOST}"
                raise HostagentError(found, "Clear all at once, without --subject")
            data = {"schema_version": SCHEMA_VERSION, "boot_id": boot_id, "cleared": plain(words)}
            deliver(json.dumps(data, indent=1) + "\n", path, mode=0o644)
    except OSError as error:
        raise HostagentError(f"cannot write {path}: {reason(error)}", "Nothing is cleared") from error


@contextlib.contextmanager
def _exclusive(folder: str, ends: float) -> Iterator[None]:
    """One writer at a time in the state directory, which only root may write: else no pass trusts the file."""
    if not os.path.isdir(folder):
        os.makedirs(folder)
        os.chmod(folder, 0o755)  # noqa: S103  all users may read what was cleared
    for place in (os.path.dirname(folder), folder):
        found = os.stat(place)
        if found.st_uid != 0 or found.st_mode & _OTHERS_WRITE:
            raise HostagentError(
                f"found {place} of user {found.st_uid}, mode {stat.S_IMODE(found.st_mode):04o}, wanted root's alone to write",
                "Nothing is cleared: no pass would believe it",
            )
    path = os.path.join(folder, LOCK)
    try:
        lock = lockfile.take(path, ends)
    except lockfile.LockTimeoutError as error:
        problem = f"found {path} held by {error} until the deadline, wanted to write alone"
        raise HostagentError(problem, "Nothing is cleared: run it again once that has ended") from error
    try:
        yield
    finally:
        os.close(lock.descriptor)


def _before(path: str, boot_id: str) -> Cleared:
    """Those of this boot; a file that is not trusted, or cannot be read, is dropped."""
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != 0 or found.st_mode & _OTHERS_WRITE:
            return ()
        cleared = parse_cleared(read_small(path, _LIMIT).decode("utf-8", "replace"))
    except OSError:
        return ()
    return () if isinstance(cleared, Unread) or cleared[0] != boot_id else cleared[1]


def _within_limit(words: Cleared, clearing: Clearing) -> Cleared:
    """Those before; at the limit without those that the new one covers."""
    if len(words) < MOST:
        return words
    return tuple(one for one in words if clearing.subject not in ("", one.subject) or one.upto > clearing.upto)
