"""The current question of a child, in memory that it shares with its parent.

A pass asks some thousand questions in a tenth of a second; a message for each would cost more than the answers.
"""

import contextlib
import mmap
import struct
import time
import zlib
from collections.abc import Callable

from hostagent.host.answer_file import Question
from hostagent.host.encoding import FAST, Coding

#: Only written pages use memory. A longer question is replaced by ().
_BYTES = 256 * 1024
#: Length and checksum.
_HEAD = struct.Struct("<II")
_MOST = _BYTES - _HEAD.size
#: Reads by the parent while the child writes, at most.
_LOOKS = 100

#: The question, and when it began on the monotonic clock.
OpenQuestion = tuple[Question, float]
NOTHING: OpenQuestion = ((), 0.0)


class CurrentQuestion:
    """Created after the fork of the workers and before that of the child: a worker runs a third-party library and must not have this
    memory, which the parent trusts. Raises ``OSError`` without memory.
    """

    def __init__(self, coding: Coding = FAST, clock: Callable[[], float] = time.monotonic) -> None:
        self._coding, self._clock = coding, clock
        self._shared = mmap.mmap(-1, _BYTES)
        self._latest = NOTHING
        self._head = b""

    def set(self, asked: Question) -> None:
        """In the child: this question starts now."""
        now = self._clock()
        data = self._coding.dumps((asked, now))
        if len(data) > _MOST:
            data = self._coding.dumps(((), now))
        self._shared[: _HEAD.size + len(data)] = _HEAD.pack(len(data), zlib.crc32(data)) + data

    def get(self) -> OpenQuestion:
        """In the parent: the last complete entry, by its checksum."""
        for _ in range(_LOOKS):
            head = self._shared[: _HEAD.size]
            if head == self._head or head == bytes(_HEAD.size):
                break
            size, checksum = _HEAD.unpack(head)
            data = self._shared[_HEAD.size : _HEAD.size + size]
            if size <= _MOST and zlib.crc32(data) == checksum:
                self._head, self._latest = head, _parse(self._coding, data)
                break
        return self._latest

    def close(self) -> None:
        self._shared.close()


def _parse(coding: Coding, data: bytes) -> OpenQuestion:
    """`NOTHING` for data of another form."""
    found: object = None
    with contextlib.suppress(ValueError):
        found = coding.loads(data)
    match found:
        case [[*asked], float(began)]:
            words = tuple(one for one in asked if isinstance(one, str))
            if len(words) == len(asked):
                return words, began
    return NOTHING
