"""``Unread``: "could not be read" as a value that cannot be mistaken for an answer."""

from collections.abc import Callable
from typing import Any, Literal, NoReturn, TypeVar

Why = Literal[
    "absent",  # read, and it does not exist
    "not-supported",  # read, and this hardware or driver does not have it
    "not-running",  # an image has no running kernel or services
    "denied",  # permission to read is missing
    "timeout",  # no answer within its deadline
    "error",  # the read failed, or its answer could not be parsed
    "not-recorded",  # not on the tape, or not the part that is needed
    "older-recording",  # the tape was recorded before this was read
]

#: These mean "does not apply here" and skip a check; every other reason makes it unknown.
NOT_APPLICABLE: frozenset[str] = frozenset({"absent", "not-supported", "not-running"})
#: A file or link does not exist, or an image cannot have it. Every other reason leaves its existence unknown.
NOT_THERE: frozenset[str] = frozenset({"absent", "not-running"})

T = TypeVar("T")
R = TypeVar("R")


class UnreadError(Exception):
    """An ``Unread`` was used as a value."""

    def __init__(self, unread: "Unread") -> None:
        super().__init__(f"{unread.why}: {unread.detail}")
        self.unread = unread


class Unread:
    """Why a fact could not be read. Poisoned: every use as a value raises ``UnreadError``.

    ``question`` is the unanswered one, as on a tape (``read /proc/version``), "" for one created by a reader. It identifies a gap also
    after a pipe, where the object is another. ``evidence`` is shown in reports, such as the traceback of a reader that crashed.

    >>> Unread("denied", "open /dev/kmsg")
    Unread('denied', 'open /dev/kmsg')
    >>> Unread("absent") == Unread("absent")
    True
    >>> Unread("absent", "none") == 0
    Traceback (most recent call last):
    hostagent.core.unread.UnreadError: absent: none
    """

    __slots__ = ("detail", "evidence", "question", "why")

    def __init__(self, why: Why, detail: str = "", question: str = "", evidence: tuple[str, ...] = ()) -> None:
        self.why: Why = why
        self.detail = detail
        self.question = question
        self.evidence = evidence

    def __reduce__(self) -> "tuple[type[Unread], tuple[str, str, str, tuple[str, ...]]]":
        """For pickle: it crosses a pipe."""
        return Unread, (self.why, self.detail, self.question, self.evidence)

    def __repr__(self) -> str:
        return f"Unread({self.why!r}, {self.detail!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Unread):
            return (self.why, self.detail) == (other.why, other.detail)
        raise UnreadError(self)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def is_same_gap(self, other: "Unread") -> bool:
        """Whether both come from one unanswered question."""
        return self.question == other.question and self == other

    def _poisoned(self, *_: Any) -> NoReturn:
        raise UnreadError(self)

    def __getattr__(self, name: str) -> NoReturn:
        """``gpu.row_remap.failed`` without `need` is the same mistake as ``bool(gpu.row_remap)``."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnreadError(self)

    #: A set or a mapping needs the hash first: ``gpu.name in {"T4"}`` would otherwise answer False.
    __hash__ = _poisoned

    __bool__ = __len__ = __contains__ = __iter__ = __getitem__ = _poisoned
    __lt__ = __le__ = __gt__ = __ge__ = _poisoned
    __int__ = __float__ = __index__ = __add__ = __sub__ = _poisoned
    __str__ = __format__ = __call__ = _poisoned


def need(value: "T | Unread") -> T:
    """The value, or ``UnreadError``: the check is then unknown or skipped, never passed."""
    if isinstance(value, Unread):
        raise UnreadError(value)
    return value


def then(value: "T | Unread", function: "Callable[[T], R]") -> "R | Unread":
    """`function` of the value; an ``Unread`` is returned as it is.

    >>> then("580.159.03", len), then(Unread("denied", "open"), len)
    (10, Unread('denied', 'open'))
    """
    return value if isinstance(value, Unread) else function(value)
