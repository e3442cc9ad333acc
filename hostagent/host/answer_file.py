"""The answers of a pass, in memory that a child and its parent share.

The child only appends: it never waits for a busy parent. If it has to be replaced, its successor starts with these answers and asks no
question twice.

A record is four bytes of length, then question and answer (`hostagent.host.encoding`); the length is written last. A zero length or an
invalid record is the end.
"""

import contextlib
import mmap
import os
from collections.abc import Mapping

from hostagent.core.answers import Answer
from hostagent.core.unread import Unread
from hostagent.host.encoding import FAST, Coding

#: A question: method and arguments.
Question = tuple[str, ...]

_HEAD = 4
#: It grows by these bytes and a quarter of its size.
_BYTES = 64 * 1024


class AnswerFile:
    """Created before the fork. Only the child maps it writable: a worker, forked from the same process, must not have that memory."""

    def __init__(self, coding: Coding = FAST) -> None:
        """Raises ``OSError`` without descriptors or memory."""
        self._coding = coding
        self.descriptor = os.memfd_create("hostagent-answers")
        self._end = self._room = 0
        self._shared: mmap.mmap | None = None

    def add(self, asked: Question, answer: "Answer | Unread") -> None:
        """Append, in the child. If that fails (no memory, a limit on file size), a successor asks again."""
        record = self._coding.dumps((asked, self._coding.pack(answer)))
        begin, end = self._end + _HEAD, self._end + _HEAD + len(record)
        if end + _HEAD > self._room:
            self._grow(end + _HEAD)
        if self._shared is not None and end + _HEAD <= self._room:
            self._shared[begin:end] = record
            self._shared[self._end : begin] = len(record).to_bytes(_HEAD, "little")
            self._end = end

    def _grow(self, size: int) -> None:
        """Allocate now: writing to a mapping without memory would kill the child."""
        with contextlib.suppress(OSError):
            if self._shared is None:
                os.ftruncate(self.descriptor, self._end)  # drops a half-written record of a killed child
                self._room = self._end
            room = max(size, self._room + self._room // 4) + _BYTES
            os.posix_fallocate(self.descriptor, self._room, room - self._room)
            self._shared = mmap.mmap(self.descriptor, room, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
            self._room = room

    def read(self) -> "Mapping[Question, Answer | Unread]":
        """All complete answers, read one by one to save memory. A child that is forked later appends after them."""
        answers: dict[Question, Answer | Unread] = {}
        start, size = 0, min(os.fstat(self.descriptor).st_size, self._coding.most_total)
        if not size:
            return answers
        left = self._coding.most_total
        with mmap.mmap(self.descriptor, size, prot=mmap.PROT_READ) as data:
            while length := int.from_bytes(data[start : start + _HEAD], "little"):
                begin = start + _HEAD
                record = data[begin : begin + length]
                left -= self._coding.cost(record)
                if left < 0:
                    break
                try:
                    asked, packed = self._coding.loads(record)
                    answers[tuple(map(_word, asked))] = self._coding.unpack(packed)
                except (ValueError, TypeError):
                    break
                start = begin + length
        self._end = start
        return answers

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1


def _word(one: object) -> str:
    """Raises ``TypeError``."""
    if isinstance(one, str):
        return one
    raise TypeError("found something else than words of a question")
