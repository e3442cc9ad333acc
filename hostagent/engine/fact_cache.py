"""A fact follows from its answers: where each is as it was in an earlier pass, the fact of that pass is the fact of this one.

Every question is put to the host anew; what is spared is the work of the reader, and a fact on its way between two processes.
"""

import marshal
from collections.abc import Iterable
from typing import Any

from hostagent.core.answers import Answer
from hostagent.core.retention import Filtered
from hostagent.core.unread import Unread
from hostagent.facts.hostfacts import Earlier
from hostagent.host.source import Source

#: Of marshal: the last one in which equal values are equal bytes, whoever else refers to them.
_VERSION = 2
#: The question whose answer says what time it is.
_CLOCK = ("host",)


def asked(source: Source) -> bytes:
    """The questions of the fact whose turn it is in their order, each with a digest of its answer: of this process and those that it forks
    alone.
    """
    questions = tuple(source.budget.share.asked)
    return marshal.dumps([(question, _digest(source, question)) for question in questions])


def is_as_it_was(source: Source, before: Earlier) -> bool:
    """Ask what was asked then. The first answer that differs ends it: up to there the reader would have asked the same, and from there on
    it asks what it wants.
    """
    is_same = all(_digest(source, question) == digest for question, digest in _rows(before))
    source.budget.share.asked.clear()
    return is_same and source.budget.share.over is None


def _rows(before: Earlier) -> "Iterable[tuple[tuple[str, ...], int]]":
    rows: list[tuple[tuple[str, ...], int]] = marshal.loads(before.asked)  # noqa: S302  by this program
    return rows


def _digest(source: Source, question: tuple[str, ...]) -> int:
    """Of the answer: 64 bits, keyed anew by each program that starts, so that nobody can make another answer that has the same. Without
    the clock, which only `hostagent.engine.collect.Reader.has_clock` takes.
    """
    answer = source.answer(question)
    if isinstance(answer, dict) and question == _CLOCK:
        answer = {key: value for key, value in answer.items() if key != "now"}
    return hash(_portable(answer))


def _portable(answer: "Answer | Unread") -> Any:
    if isinstance(answer, Unread):
        return answer.why, answer.detail
    if isinstance(answer, Filtered):
        return _portable(answer.answer), answer.kept
    return answer if isinstance(answer, bytes) else (marshal.dumps(answer, _VERSION),)
