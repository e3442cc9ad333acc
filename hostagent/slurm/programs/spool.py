"""State of the programs of Slurm on one node, below ``slurm/`` in the state directory. A daemon's own files are never written."""

import contextlib
import errno
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from hostagent.core import lockfile
from hostagent.core.filewrite import deliver
from hostagent.core.frozen import frozen
from hostagent.core.smallfile import read_small, reason
from hostagent.engine.report import state

FOLDER, VERDICT = "slurm", "verdict.json"
Program = Literal["prolog", "epilog"]
_NODE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,253}[A-Za-z0-9])?")
_JOB = re.compile(r"[0-9]{1,20}")
_MAX_BYTES = 64 * 1024
#: Refusals that are remembered, the newest.
_MARKERS = 16
#: Begins of jobs that are kept.
_JOBS = 1024
#: Characters of a refusal's reason; seconds that a writer waits for another one.
_REASON, _WAIT_S = 200, 1.0
MAX_TIME = 1e12


@frozen
class Marker:
    """A refusal of our prolog or epilog on this node. ``at``: seconds since the epoch."""

    at: float
    program: Program
    reason: str


def is_node_name(name: str) -> bool:
    """Whether a name can stand in a file name and in a command of Slurm, which takes brackets and commas for lists of nodes.

    >>> is_node_name("gpu-7.cluster"), is_node_name("n[1-4]"), is_node_name("../n1"), is_node_name("")
    (True, False, False, False)
    """
    return _NODE.fullmatch(name) is not None


class Spool:
    """The files of one node."""

    def __init__(self, state_dir: str, node: str) -> None:
        if not is_node_name(node):
            raise ValueError(f"found the node name {node!r:.80}")
        self.node = node
        self.folder = os.path.join(state_dir, FOLDER)

    @classmethod
    def open(cls, state_dir: str, node: str) -> "Spool":
        """Makes the directory. Raises ``OSError`` where files cannot be written there."""
        made = cls(state_dir, node)
        state.make(state_dir)
        state.make(made.folder)
        if not os.access(made.folder, os.W_OK):  # of root's, too, on a file system that is read-only
            raise OSError(errno.EROFS if os.geteuid() == 0 else errno.EACCES, "it cannot be written")
        return made

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """One program at a time that writes to Slurm. Raises ``lockfile.LockTimeoutError`` at once, ``OSError``."""
        held = lockfile.take(self._path("lock"), time.monotonic())
        try:
            yield
        finally:
            os.close(held.descriptor)

    def note_update(self, at: float, values: Mapping[str, str], *, is_made: bool) -> None:
        """The last update, before it is made and after. Raises ``OSError``: on a full disk nothing is written to Slurm."""
        kept = self.written_reason()
        if is_made:
            kept = "" if values.get("State") == "RESUME" else values.get("Reason") or kept
        self._write("update.json", json.dumps({"at": at, "update": values, "reason": kept}) + "\n")

    def written_reason(self) -> str:
        """The last one that Slurm has taken; "" after a RESUME, and where that is not known."""
        try:
            found = json.loads(read_small(self._path("update.json"), _MAX_BYTES, {0, os.geteuid()}))["reason"]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return ""
        return found if isinstance(found, str) else ""

    def unknown_at(self) -> float:
        """When the last run found the node unknown; 0 where it found something else."""
        return self._time("unknown")

    def note_unknown(self, at: float) -> None:
        """Raises ``OSError``."""
        self._write("unknown", f"{at:.3f}\n")

    def clear_unknown(self) -> None:
        self._remove("unknown")

    def stale_at(self) -> float:
        """The time of a reason of ours that a node in service had; 0 where none was seen."""
        return self._time("stale")

    def note_stale(self, at: float) -> None:
        """Raises ``OSError``."""
        self._write("stale", f"{at:.3f}\n")

    def markers(self) -> tuple[Marker, ...]:
        """Refusals, the oldest first; none where the file is damaged."""
        try:
            found = json.loads(read_small(self._path("refused.json"), _MAX_BYTES, {0, os.geteuid()}))
            return tuple(_marker(one) for one in found)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return ()

    def add_marker(self, marker: Marker) -> None:
        """Raises ``OSError``. Prologs of several jobs may refuse at once: one at a time writes the file."""
        with self._alone():
            self._save_markers(sorted((*self.markers(), marker), key=lambda one: one.at)[-_MARKERS:])

    def drop_markers(self, upto: float) -> None:
        """Those up to that time have had their effect: the next "Prolog error" is another one. Raises ``OSError``."""
        with self._alone():
            found = self.markers()
            kept = [one for one in found if one.at > upto]
            if len(kept) < len(found):
                self._save_markers(kept)

    def _save_markers(self, kept: Iterable[Marker]) -> None:
        rows = [{"at": one.at, "program": one.program, "reason": one.reason[:_REASON]} for one in kept]
        self._write("refused.json", json.dumps(rows, indent=1) + "\n")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        descriptor = -1
        with contextlib.suppress(OSError, lockfile.LockTimeoutError):
            descriptor = lockfile.take(self._path("refused.lock"), time.monotonic() + _WAIT_S).descriptor
        try:
            yield
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def job_began_at(self, job: str) -> float:
        """Seconds since the epoch; 0 where that is not known."""
        return self._time(f"job-{_checked(job)}")

    def note_job(self, job: str, at: float) -> None:
        """Raises ``OSError``. Where no epilog removes them, the oldest give way."""
        mine = [os.path.join(self.folder, name) for name in os.listdir(self.folder) if name.startswith(f"{self.node}.job-")]
        if len(mine) >= _JOBS:
            os.unlink(min(mine, key=os.path.getmtime))
        self._write(f"job-{_checked(job)}", f"{at:.3f}\n")

    def forget_job(self, job: str) -> None:
        self._remove(f"job-{_checked(job)}")

    def save_verdict(self, text: str) -> None:
        """Readable by all, as the state file is. Raises ``OSError``."""
        deliver(text, os.path.join(self.folder, VERDICT), mode=0o644)

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, f"{self.node}.{name}")

    def _write(self, name: str, text: str) -> None:
        deliver(text, self._path(name), mode=0o600)

    def _remove(self, name: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path(name))

    def _time(self, name: str) -> float:
        try:
            found = float(read_small(self._path(name), 64, {0, os.geteuid()}))
        except (OSError, ValueError):
            return 0.0
        return found if 0 <= found <= MAX_TIME else 0.0


def opened(state_dir: str, node: str) -> tuple[Spool | None, str]:
    """The node's files, and why none can be written ("" where they can)."""
    try:
        return Spool.open(state_dir, node), ""
    except OSError as error:
        return None, f"cannot write below {state_dir}: {reason(error)}"


def mark(spool: Spool | None, program: Program, why: str) -> str:
    """Leave the proof that a refusal is ours: Slurm's own reason will be "Prolog error". Why it is not left, "" where it is."""
    if not spool:
        return "no proof is left of this refusal"
    try:
        spool.add_marker(Marker(time.time(), program, why))
    except OSError as error:
        return f"no proof is left of this refusal: {reason(error)}"
    return ""


def _checked(job: str) -> str:
    if not _JOB.fullmatch(job):
        raise ValueError(f"found the job id {job!r:.80}")
    return job


def _marker(row: Any) -> Marker:
    at, program, why = row["at"], row["program"], row["reason"]
    if not (isinstance(at, int | float) and 0 <= at <= MAX_TIME and program in ("prolog", "epilog") and isinstance(why, str)):
        raise ValueError("found no marker")
    return Marker(float(at), program, why)
