"""Which nodes one job may use together: the class that each is grouped by, and what sets two of them apart."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from hostagent.facts.unread import Unread
from hostagent.gate.answer import Reason
from hostagent.gate.candidate import Candidate
from hostagent.gate.request import Request
from hostagent.gate.wording import count_of, shown
from hostagent.nccl.classinputs import CLASS_INPUTS, HOST_INPUTS, VERSION

#: Stands at the end of an input that was cut.
CUT = "… (+"
NOT_READ = "not read"
_BEFORE = 20

Key = tuple[object, ...]


class Difference(NamedTuple):
    """The first input that two nodes do not have alike, or where none is shown, in words what it may be."""

    name: str
    found: str
    wanted: str


class Grouping:
    """How a request groups nodes; a job of one node needs no group."""

    def __init__(self, request: Request) -> None:
        self._is_needed = request.nodes > 1
        self._needs_domain = self._is_needed and request.same_domain
        self._uses_host = request.host_nccl
        self._free = frozenset(request.may_differ)
        names = (*CLASS_INPUTS, *HOST_INPUTS) if request.host_nccl else CLASS_INPUTS
        self._names = tuple(name for name in names if name not in self._free)

    def class_of(self, one: Candidate) -> "str | Unread":
        return one.host_class if self._uses_host else one.fabric_class

    def key(self, one: Candidate) -> Key | None:
        """Equal on nodes of one group; None where the node belongs to none."""
        own = self.class_of(one)
        if self._free and (remaining := self._remaining(one)) is not None:
            return (self._version(one), *remaining)
        return None if isinstance(own, Unread) else ("", own)

    def _remaining(self, one: Candidate) -> tuple[object, ...] | None:
        """The inputs that may not differ, by name; None where one of them is not known whole."""
        inputs = one.inputs
        if isinstance(inputs, Unread) or any(name not in inputs for name in self._names):
            return None
        known = list[tuple[str, str]]()
        for name in sorted(inputs):
            if name in self._free or (not self._uses_host and name in HOST_INPUTS):
                continue
            value = inputs[name]
            if isinstance(value, Unread) or CUT in value:
                return None
            known.append((name, value))
        return tuple(known)

    def _version(self, one: Candidate) -> str:
        """Of the list of inputs, as the node's classes say it; where both are unread because one input is, that of this release."""
        other = one.fabric_class if self._uses_host else one.host_class
        for text in (self.class_of(one), other):
            if not isinstance(text, Unread):
                return release(text)
        return str(VERSION)

    def reasons(self, one: Candidate) -> Iterator[Reason]:
        """Why the node can be in no group."""
        if self._is_needed and self.key(one) is None:
            yield Reason("NotInClass", f"its class could not be read{self._cause(one)}", NOT_READ, "a class")
        if self._needs_domain and isinstance(one.domain, Unread):
            yield Reason("NotInDomain", f"its domain could not be read ({one.domain.why})", NOT_READ, "a domain")

    def _cause(self, one: Candidate) -> str:
        if isinstance(one.inputs, Unread):
            return f": its inputs are not read ({one.inputs.why})"
        for name in self._names:
            value = one.inputs.get(name)
            if value is None or isinstance(value, Unread):
                return f": {name} is not read{'' if value is None else f' ({value.why})'}"
        return ""

    def difference(self, one: Candidate, other: Candidate) -> Difference:
        """What `one` has and what `other`, of the largest class."""
        here, there = _inputs(one), _inputs(other)
        more = sorted(({*here} | {*there}) - {*CLASS_INPUTS, *HOST_INPUTS})
        for name in (*CLASS_INPUTS, *HOST_INPUTS, *more) if self._uses_host else (*CLASS_INPUTS, *more, *HOST_INPUTS):
            found, wanted = here.get(name, NOT_READ), there.get(name, NOT_READ)
            if found != wanted and name not in self._free:
                return Difference(shown(name), *_around(found, wanted))
        mine, theirs = self.class_of(one), self.class_of(other)
        texts = ["" if isinstance(text, Unread) else text for text in (mine, theirs)]
        what = "an input that was cut" if release(texts[0]) == release(texts[1]) else "another release of hostagent"
        return Difference(what, *(shown(text) or "no class" for text in texts))


def release(text: str) -> str:
    """Before the first dash of a class: the version of its list of inputs, "" where it has none.

    >>> release("1-d7a6d5cdb615"), release("d7a6d5cdb615")
    ('1', '')
    """
    version, dash, _ = text.partition("-")
    return version if dash else ""


def _around(found: str, wanted: str) -> tuple[str, str]:
    """Both texts, from a little before where they differ if they are alike for long."""
    if shown(found) == shown(wanted):
        alike = next(place for place, pair in enumerate(zip_longest(found, wanted)) if pair[0] != pair[1])
        found, wanted = (f"…{text[max(0, alike - _BEFORE) :]}" for text in (found, wanted))
    return shown(found), shown(wanted)


def apart(grouping: Grouping, one: Candidate, largest: Sequence[Candidate]) -> Reason:
    """Why an eligible node is not in the largest class."""
    name, found, wanted = grouping.difference(one, largest[0])
    return Reason("NotInClass", f"{name} {found}, {count_of(len(largest), 'other')} {wanted}", found, wanted)


def _inputs(one: Candidate) -> dict[str, str]:
    """Those that were read."""
    if isinstance(one.inputs, Unread):
        return {}
    return {name: value for name, value in one.inputs.items() if not isinstance(value, Unread)}
