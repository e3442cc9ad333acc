"""Answers of hostagent's HTTP server, and the interface of pages that make them."""

from http import HTTPStatus
from typing import NamedTuple, Protocol

TEXT = "text/plain; charset=utf-8"
JSON, METRICS = "application/json", "text/plain; version=0.0.4; charset=utf-8"


class Answer(NamedTuple):
    """One answer, whole."""

    status: HTTPStatus
    text: str
    kind: str = TEXT


class Page(Protocol):
    """Makes answers by path."""

    def answer(self, path: str, query: str, authorization: str) -> Answer:
        """To GET. `authorization`: the header, "" for none."""

    def encoded(self, answer: Answer) -> bytes:
        """The bytes of its text."""


class Encoded:
    """Encodes texts once: readers of the same text share its bytes, because many may read slowly."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, bytes]] = {}  # by media type

    def __call__(self, answer: Answer) -> bytes:
        before = self._last.get(answer.kind)
        if before is None or before[0] is not answer.text:
            before = self._last[answer.kind] = (answer.text, answer.text.encode("utf-8", "backslashreplace"))
        return before[1]
