"""What a host has answered in this pass, in a file in memory that a child and its parent share.

The child only appends: it never waits for a parent that is busy. When it has to be replaced, its successor begins with
these answers and asks no question twice.
"""

import contextlib
import marshal
import mmap
import os
from collections.abc import Mapping

from hostagent.facts.unread import Unread
from hostagent.source.base import Answer

#: A question as it is asked: method and arguments.
Question = tuple[str, ...]


class AnswerFile:
    """Made before the fork; both ends write at its end, one after the other."""

    def __init__(self) -> None:
        """Raises ``OSError``: no descriptors, no memory."""
        self.descriptor = os.memfd_create("hostagent-answers")

    def add(self, asked: Question, answer: "Answer | Unread") -> None:
        """Where nothing can be added (a limit on the size of files), a successor asks again."""
        portable = ((answer.why, answer.detail),) if isinstance(answer, Unread) else answer
        record = marshal.dumps((asked, portable))
        with contextlib.suppress(OSError):
            os.write(self.descriptor, len(record).to_bytes(4, "little") + record)

    def read(self) -> "Mapping[Question, Answer | Unread]":
        """Every whole answer; what was cut short when its writer was killed is removed. They are read one by one: all of them a second
        time would be a second time their memory.
        """
        size = os.fstat(self.descriptor).st_size
        if not size:
            return {}
        answers: dict[Question, Answer | Unread] = {}
        start = 0
        with mmap.mmap(
            self.descriptor, size, prot=mmap.PROT_READ
        ) as data:  # one by one: all of them a second time would be their memory again
            while start + 4 <= size and (end := start + 4 + int.from_bytes(data[start : start + 4], "little")) <= size:
                asked, answer = marshal.loads(data[start + 4 : end])  # noqa: S302  by this program alone
                answers[asked] = Unread(*answer[0]) if isinstance(answer, tuple) else answer
                start = end
        if start < size:
            with contextlib.suppress(OSError):
                os.ftruncate(self.descriptor, start)
                os.lseek(self.descriptor, start, os.SEEK_SET)
        return answers

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1
