"""Caches answers of programs, and of modinfo, which unpacks a whole kernel module, until the files behind them change. In the steady state
no program runs.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hostagent.core.unread import Unread
from hostagent.host.watched_files import Mark, Places

Question = tuple[str, ...]
_RUN, _MODULE = "run", "modinfo"
_RPM, _SYSTEMCTL = "rpm", "systemctl"
_DATABASES = ("rpmdb.sqlite", "rpmdb.sqlite-wal", "Packages.db", "Packages")


class _Entry(NamedTuple):
    answer: Any
    marks: tuple[Mark, ...]  # of `_files`, as they were when the answer was read


class AnswerCache:
    """Answers by question, each with the marks of the files that it depends on."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._entries: dict[Question, _Entry] = {}

    def keep(self, places: Places, answers: Mapping[Question, Any], since: float) -> None:
        """The answers of one pass over the host at `places`; all others are dropped. `since`: when the pass began, seconds since the epoch;
        an answer of a file that changed after it is not cached.
        """
        self._places = places
        asked = {question: answer for question, answer in answers.items() if question[0] in (_RUN, _MODULE)}
        self._entries = {
            question: _Entry(answer, tuple(places.mark(path, since) for path in _files(question)))
            for question, answer in asked.items()
            if not isinstance(answer, Unread)
        }

    def configuration_changed(self) -> None:
        """Drop answers of systemctl: they depend on no file that could be checked."""
        self._entries = {question: kept for question, kept in self._entries.items() if question[1] != _SYSTEMCTL}

    def answers(self) -> dict[Question, Any]:
        marks = self._places.mark
        return {question: kept.answer for question, kept in self._entries.items() if kept.marks == tuple(map(marks, _files(question)))}


def _files(question: Question) -> Iterable[str]:
    if question[:2] == (_RUN, _RPM):
        return [f"{question[3]}/{name}" for name in _DATABASES]
    return question[1:2] if question[1].startswith("/") else ()
