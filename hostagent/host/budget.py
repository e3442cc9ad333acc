"""What a host may answer in one pass, in memory and in number: files, links and names are other people's, and so is how many there are.

Each fact has a share of its own, so that a directory that somebody fills costs the fact that reads it.
"""

from collections.abc import Iterable

from hostagent.core.retention import Filtered
from hostagent.core.unread import Unread

MIB = 1024 * 1024
#: Of all answers of a pass. A host has 3 MiB; an image may have thousands of files with a megabyte of nothing each.
MOST_BYTES = 128 * MIB
#: Of files, links and names that one fact reads, of which a host has a tenth of a megabyte; and of databases, files with a limit of
#: their own above a MiB, and what programs and the kernel say.
SHARE_BYTES, LARGE_BYTES = 4 * MIB, 48 * MIB
_FILES = frozenset({"read", "tail", "list", "stat", "readlink", "realpath", "statvfs"})
#: That one fact may ask. The most on a host, of one with 64 GPUs and 4,000 PCI functions, are 10,000.
SHARE_QUESTIONS = 30_000
#: What a text or a list takes in addition to its content; and a number.
_VALUE_BYTES, _NUMBER_BYTES = 60, 8
#: By which a refusal is known again, on a tape too.
_OVER = "that one fact may read of a host"


class _Share:
    def __init__(self) -> None:
        self.small = self.large = self.questions = 0
        self.asked: list[tuple[str, ...]] = []  # again too, in its order
        self.over: Unread | None = None


class Budget:
    """Of one pass: by fact, what has been asked and answered. A fact that asked for too much is unread, whatever its reader made of it."""

    def __init__(self) -> None:
        self._spent = 0
        self._shares: dict[str, _Share] = {}
        self._fact = ""
        #: Of the fact whose turn it is; `over` says why it gets no more answers, and is unread.
        self.share = self._shares.setdefault("", _Share())

    def charge_to(self, fact: str) -> str:
        """From now on this fact asks. Whose turn it was before."""
        before, self._fact = self._fact, fact
        self.share = self._shares.setdefault(fact, _Share())
        return before

    def charge(self, question: tuple[str, ...], answer: object) -> "object | Unread":
        """The answer, or why it is too much."""
        share, size = self.share, weight(answer)
        share.questions += 1
        if question[0] not in _FILES or (len(question) > 2 and int(question[2]) > MIB):
            share.large += size
        else:
            share.small += size
        self._spent += size
        if share.small <= SHARE_BYTES and share.large <= LARGE_BYTES and share.questions <= SHARE_QUESTIONS and self._spent <= MOST_BYTES:
            if isinstance(answer, Unread) and _OVER in answer.detail:
                share.over = answer
            return answer
        self._spent -= size  # it is dropped
        share.over = Unread("error", f"{' '.join(question)[:200]}: more than the {self._most()} {_OVER} were read before it and with it")
        return share.over

    def _most(self) -> str:
        share = self.share
        if share.questions > SHARE_QUESTIONS:
            return f"{SHARE_QUESTIONS} answers"
        return f"{SHARE_BYTES if share.small > SHARE_BYTES else LARGE_BYTES if share.large > LARGE_BYTES else MOST_BYTES} bytes"


def weight(answer: object) -> int:
    """Bytes that it takes in memory, about. Asked of every answer, so it calls itself for what is nested alone."""
    if isinstance(answer, (bytes, str)):
        return _VALUE_BYTES + len(answer)
    if isinstance(answer, Filtered):
        return weight(answer.answer)
    size = _VALUE_BYTES
    values: Iterable[object]
    if isinstance(answer, dict):
        size += sum(map(len, answer))
        values = answer.values()
    elif isinstance(answer, list):
        values = answer
    else:
        return _NUMBER_BYTES
    for value in values:
        if isinstance(value, str):
            size += _VALUE_BYTES + len(value)
        else:
            size += weight(value) if isinstance(value, (list, dict)) else _NUMBER_BYTES
    return size
