"""What a reader uses of an answer: given with the question, so that a snapshot keeps only that.

A live host answers in full. A snapshot is filtered when it is saved (`hostagent.snapshot.keeping`); an answer of it names what
was kept, and a reader that needs more gets *not-recorded*, never *absent*.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from hostagent.core.unread import Unread


class Keep(NamedTuple):
    """The kind of an answer, and the names in it that are read. What a name is depends on the kind: `hostagent.snapshot.keeping`."""

    kind: str
    names: tuple[str, ...] = ()


#: All of it: numbers and words of the kernel, names of packages. Never a file that users may write passwords into.
WHOLE = Keep("whole")
#: All of it is used live and none kept: whole configuration files, for the code that changes them. Other readers set their own `Keep`.
NOTHING = Keep("nothing")


class Filtered(NamedTuple):
    """An answer of a filtered snapshot."""

    answer: object
    kept: Keep


def lacking(wanted: "Keep | None", kept: Keep) -> "str":
    """What a reader needs and a filtered answer lacks; "" if it has all of it.

    >>> lacking(Keep("settings", ("a",)), Keep("settings", ("a", "b"))), lacking(Keep("settings", ("c",)), Keep("settings", ("a",)))
    ('', 'c')
    """
    if wanted is None or wanted.kind != kept.kind:
        return f"it as {wanted.kind}" if wanted and wanted != WHOLE else "all of it"
    return ", ".join(name for name in wanted.names if name not in kept.names)


def usable(answer: Filtered, wanted: "Keep | None", question: str) -> object:
    """The answer if it has all that is needed, else *not-recorded*."""
    if wanted == NOTHING:
        return Unread("not-recorded", f"a snapshot keeps no whole answer to '{question}'", question)
    if missing := lacking(wanted, answer.kept):
        return Unread("not-recorded", f"the snapshot kept a part of '{question}', and not {missing[:80]}: record again", question)
    return answer.answer


def merged(keeps: Iterable[Keep]) -> "Keep | None":
    """The union of several readers of one answer; None if their kinds differ.

    >>> merged([Keep("settings", ("b",)), Keep("settings", ("a", "b"))])
    Keep(kind='settings', names=('a', 'b'))
    """
    found = list(keeps)
    found = [one for one in found if one != NOTHING] or found
    if WHOLE in found:
        return WHOLE
    kinds = {one.kind for one in found}
    return Keep(kinds.pop(), tuple(sorted({name for one in found for name in one.names}))) if len(kinds) == 1 else None


def within_limit(answer: Any, limit: int, path: str) -> Any:
    """Apply the size limit of a live file to an answer of a tape."""
    data = answer.answer if type(answer) is Filtered else answer
    if type(data) is not bytes or len(data) <= limit:
        return answer
    return Unread("error", f"{path} has {len(data)} bytes, wanted at most {limit}")
