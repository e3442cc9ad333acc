"""Reuses a fact of an earlier pass where all answers that it was read from are unchanged.

Every question is asked again; saved are the work of the reader, and the transfer of the fact between two processes.
"""

import marshal
from collections.abc import Iterable
from typing import Any

from hostagent.core.answers import Answer
from hostagent.core.retention import Filtered
from hostagent.core.unread import Unread
from hostagent.facts.hostfacts import Earlier
from hostagent.host.source import Source

#: Version of marshal: the last one in which equal values are equal bytes, whatever other references there are.
_VERSION = 2
#: The question for the time.
_CLOCK = ("host",)


def asked(source: Source) -> bytes:
    """The questions of the current fact in their order, each with a digest of its answer, valid in this process and those that it forks."""
    questions = tuple(source.budget.share.asked)
    return marshal.dumps([(question, _digest(source, question)) for question in questions])


def is_as_it_was(source: Source, before: Earlier) -> bool:
    """Ask the questions of the earlier pass again, up to the first answer that differs: until there the reader would ask the same."""
    is_same = all(_digest(source, question) == digest for question, digest in _rows(before))
    source.budget.share.asked.clear()
    return is_same and source.budget.share.over is None


def _rows(before: Earlier) -> "Iterable[tuple[tuple[str, ...], int]]":
    rows: list[tuple[tuple[str, ...], int]] = marshal.loads(before.asked)  # noqa: S302  by this program
    return rows


def _digest(source: Source, question: tuple[str, ...]) -> int:
    """64 bits of the answer, keyed anew by each program that starts, so that no forged answer collides. Without the clock, which only
    `hostagent.engine.collect.Reader.has_clock` includes.
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
