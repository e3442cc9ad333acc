"""What outlives a pass: answers of programs, each until what it was made from changes. In the steady state no program runs."""

import os
import shutil
from collections.abc import Mapping
from typing import Any

from hostagent.facts.unread import Unread

Question = tuple[str, ...]
_RUN, _RPM, _SYSTEMCTL = "run", "rpm", "systemctl"
_DATABASES = ("rpmdb.sqlite", "rpmdb.sqlite-wal", "Packages.db", "Packages")


class Carried:
    """Answers by question, each with the mark of the files that it depends on."""

    def __init__(self, prefix: str) -> None:
        """`prefix`: where the host's ``/`` is, "" for this machine's own."""
        self._prefix = prefix
        self._kept: dict[Question, tuple[Any, Any]] = {}

    def keep(self, answers: Mapping[Question, Any]) -> None:
        """Of one pass; what it was not asked is forgotten."""
        asked = {question: answer for question, answer in answers.items() if question[:1] == (_RUN,) and not isinstance(answer, Unread)}
        self._kept = {question: (answer, self._mark(question)) for question, answer in asked.items()}

    def configuration_changed(self) -> None:
        """What systemd says of a unit depends on no file that could be looked at."""
        self._kept = {question: kept for question, kept in self._kept.items() if question[1] != _SYSTEMCTL}

    def answers(self) -> dict[Question, Any]:
        return {question: answer for question, (answer, mark) in self._kept.items() if mark == self._mark(question)}

    def _mark(self, question: Question) -> Any:
        if question[1] == _RPM:
            folder = f"{self._prefix}{question[3]}"
            return tuple(_mark(os.path.join(folder, name)) for name in _DATABASES)
        place = question[1] if question[1].startswith("/") else shutil.which(question[1]) or ""
        return _mark(f"{self._prefix}{place}")


def _mark(path: str) -> Any:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
