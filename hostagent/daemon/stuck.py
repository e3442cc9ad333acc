"""Processes stuck in the kernel after earlier passes: while one lives, its question is not asked again."""

import contextlib

from hostagent.host.answer_file import Question
from hostagent.host.stuck_processes import StuckProcesses


class Stuck:
    """Over all passes."""

    def __init__(self) -> None:
        self._questions: dict[Question, int] = {}
        self._lanes: dict[str, int] = {}

    def add(self, stuck: StuckProcesses) -> None:
        """Processes stuck after one pass."""
        self._questions |= stuck.questions
        self._lanes |= stuck.lanes

    def alive(self) -> StuckProcesses:
        """Those that are still alive."""
        self._questions = {asked: pid for asked, pid in self._questions.items() if _lives(pid)}
        self._lanes = {lane: pid for lane, pid in self._lanes.items() if _lives(pid)}
        return StuckProcesses(dict(self._questions), dict(self._lanes))


def _lives(pid: int) -> bool:
    """Whether this child runs and is no zombie: zombies are reaped with the next start of a child."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stream:
        return stream.read().rpartition(b") ")[2][:1] not in (b"Z", b"X")
    return False
