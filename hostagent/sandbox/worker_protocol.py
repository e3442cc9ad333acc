"""Validates messages of a worker, which runs third-party code and may send anything.

Size and number of values are checked before parsing: no deadline interrupts a JSON parser.
"""

import json
from collections.abc import Callable
from typing import Any, NoReturn, get_args

from hostagent.core.answers import MIB, Answer
from hostagent.core.unread import Unread, Why

#: Bytes of one message, of all; messages; values of one. A file has at most 1 MiB, and JSON encodes a byte in up to six.
LONGEST, _MAX_BYTES, _MAX_MESSAGES, _MAX_VALUES = 8 * MIB, 64 * MIB, 4 * 65536, 100_000
#: Characters of a question or a detail; texts in a question; digits of a number.
_MAX_TEXT, _MAX_WORDS, _MAX_DIGITS = 8192, 8, 25
_WHYS = frozenset(get_args(Why))

Question = tuple[str, ...]


class RefusedError(Exception):
    """A message of a worker breaks the protocol, or answers no question."""


class MessageValidator:
    """Validates the messages of one worker. As tuples: a NamedTuple costs every start two milliseconds."""

    def __init__(self) -> None:
        self._bytes = self._messages = 0

    def event(self, message: bytes) -> tuple[Any, ...]:
        """``("begin", question, label, at, allowed_s)``, ``("answer", question, answer, at)`` or ``("done", methods, rest)``, as
        `hostagent.sandbox.worker` has them; QUESTION is a tuple. Raises ``RefusedError``.
        """
        self._bytes += len(message)
        self._messages += 1
        if self._bytes > _MAX_BYTES or self._messages > _MAX_MESSAGES:
            raise RefusedError(f"{self._messages} messages of {self._bytes} bytes, wanted at most {_MAX_MESSAGES} of {_MAX_BYTES}")
        values = sum(map(message.count, (b",", b"[", b"{"))) if len(message) > _MAX_VALUES else 0
        if values > _MAX_VALUES:
            raise RefusedError(f"a message of {values} values, wanted at most {_MAX_VALUES}")
        try:
            text = message.decode()
            fields, end = _JSON.raw_decode(text)
            if end != len(text):
                _refuse(text)
            # a list, no generator: that costs, of hundreds
            return tuple([shaped(one) for shaped, one in zip(_SHAPES[fields[0]], fields, strict=True)])
        except RecursionError as error:
            raise RefusedError("a message that is too deep") from error
        except (ValueError, TypeError, KeyError) as error:
            raise RefusedError(f"no message of a worker ({type(error).__name__})") from error


def _question(texts: Any) -> Question:
    if not isinstance(texts, list) or len(texts) > _MAX_WORDS:
        raise TypeError
    if len("".join(texts)) > _MAX_TEXT:  # raises ``TypeError`` unless all are texts
        _text(max(texts, key=len))
    return tuple(texts)


def _text(text: Any) -> str:
    if not isinstance(text, str) or len(text) > _MAX_TEXT:
        raise TypeError
    return text


def _moment(seconds: Any) -> float:
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        raise TypeError
    return float(seconds)


def _answer(answer: Any) -> "Answer | Unread":
    if not isinstance(answer, dict) or len(answer) != 1:
        raise TypeError
    if "unread" in answer:
        why, detail = answer["unread"]
        if why not in _WHYS:
            raise ValueError(why)
        return Unread(why, _text(detail))
    return _bytes(answer["bytes"]) if "bytes" in answer else answer["value"]


def _bytes(text: Any) -> bytes:
    if not isinstance(text, str):
        raise TypeError
    return text.encode("latin-1")


def _number(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """A bounded parser: a number of a million digits takes minutes."""

    def read(digits: str) -> Any:
        return kind(digits) if len(digits) <= _MAX_DIGITS else _refuse(digits)

    return read


def _refuse(_: str) -> NoReturn:
    raise ValueError("no number")


#: Built once: that costs as much as a message.
_JSON = json.JSONDecoder(parse_int=_number(int), parse_float=_number(float), parse_constant=_refuse)
_SHAPES: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "begin": (str, _question, _text, _moment, _moment),
    "answer": (str, _question, _answer, _moment),
    "done": (str, _question, _answer),
}
