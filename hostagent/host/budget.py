"""I/O budget of a pass, in bytes and number of answers: the files of a host are untrusted.

Each fact has a share of its own, so that an overfull directory costs only the fact that reads it.
"""

from collections.abc import Iterable

from hostagent.core.retention import Filtered
from hostagent.core.unread import Unread

MIB = 1024 * 1024
#: For all answers of a pass. A host has 3 MiB; an image may have thousands of files of a megabyte each.
MOST_BYTES = 128 * MIB
#: For files, links and names of one fact (a host has a tenth of a megabyte); and for databases, files with a limit of their own
#: above a MiB, and output of programs and the kernel.
SHARE_BYTES, LARGE_BYTES = 4 * MIB, 48 * MIB
_FILES = frozenset({"read", "tail", "list", "stat", "readlink", "realpath", "statvfs", "volume"})
#: Questions of one fact. A host with 64 GPUs and 4,000 PCI functions needs at most 10,000.
SHARE_QUESTIONS = 30_000
#: Overhead of a text or a list; size of a number.
_VALUE_BYTES, _NUMBER_BYTES = 60, 8
#: Marks the ``Unread`` of an exceeded budget, also on a tape.
_OVER = "that one fact may read of a host"


class _Share:
    def __init__(self) -> None:
        self.small = self.large = self.questions = 0
        self.asked: list[tuple[str, ...]] = []  # in order, with repetitions
        self.over: Unread | None = None


class Budget:
    """The budget of one pass, by fact. A fact that exceeds its share is unread, whatever its reader returns."""

    def __init__(self) -> None:
        self._spent = 0
        self._shares: dict[str, _Share] = {}
        self._fact = ""
        #: The share of the current fact; `over` is the ``Unread`` once it is exceeded.
        self.share = self._shares.setdefault("", _Share())

    def charge_to(self, fact: str) -> str:
        """Charge the next questions to this fact. Returns the previous one."""
        before, self._fact = self._fact, fact
        self.share = self._shares.setdefault(fact, _Share())
        return before

    def charge(self, question: tuple[str, ...], answer: object) -> "object | Unread":
        """The answer, or an ``Unread`` if it exceeds the budget."""
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
    """Approximate bytes in memory. Called for every answer, so it recurses only for nested containers."""
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
