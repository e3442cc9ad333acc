"""The question that a child asks now, in memory that it shares with its parent: neither wakes the other to say so.

A host is asked some thousand questions in a tenth of a second; a message each would cost more than the answers.
"""

import marshal
import mmap
import zlib

from hostagent.source.answerfile import Question

#: Of one page only what is written to is memory. A question that is longer is not told.
_BYTES = 256 * 1024
_HEAD = 8
#: A parent that looks while the child writes looks again so often.
_LOOKS = 100

#: The question, and when it began on the monotonic clock.
Asked = tuple[Question, float]
NOTHING: Asked = ((), 0.0)


class UnderWay:
    """Made between the fork of the workers and that of the child: a worker, where somebody else's library runs, must not have it, because
    the parent believes what is said here. Raises ``OSError`` where there is no memory.
    """

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, _BYTES)
        self._last = NOTHING
        self._head = b""

    def say(self, asked: Question, now: float) -> None:
        """In the child."""
        data = marshal.dumps((asked, now))
        if len(data) > _BYTES - _HEAD:
            data = marshal.dumps(((), now))
        self._shared[: _HEAD + len(data)] = b"%b%b%b" % (len(data).to_bytes(4, "little"), zlib.crc32(data).to_bytes(4, "little"), data)

    def look(self) -> Asked:
        """In the parent: what was said last. The checksum tells what is half written."""
        for _ in range(_LOOKS):
            head = self._shared[:_HEAD]
            if head == self._head or head == bytes(_HEAD):
                break
            size = int.from_bytes(head[:4], "little")
            data = self._shared[_HEAD : _HEAD + size]
            if size <= _BYTES - _HEAD and zlib.crc32(data).to_bytes(4, "little") == head[4:]:
                self._head, self._last = head, marshal.loads(data)  # noqa: S302  by our own child
                break
        return self._last

    def close(self) -> None:
        self._shared.close()
