"""Groups nodes that one job may use together by their class, and explains the difference between two classes."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from hostagent.core.text import counted
from hostagent.core.unread import Unread
from hostagent.domains.nccl.class_inputs import CLASS_INPUTS, CUT, HOST_INPUTS, VERSION, release
from hostagent.gate.answer import Reason
from hostagent.gate.candidate import Candidate
from hostagent.gate.request import Request
from hostagent.gate.wording import NOT_THERE, predicate, shown

NOT_READ = "not read"
#: The difference of two classes without a differing shown input, and the beginning of a message about it.
CUT_INPUT, RELEASE = "an input that was cut", "another release of hostagent"
DIFFERS_IN_CUT, OTHER_RELEASE = f"differs in {CUT_INPUT}", f"is of {RELEASE}"
_BEFORE = 20
_OURS = str(VERSION)

Key = tuple[object, ...]


class Difference(NamedTuple):
    """The first input that is not equal on two nodes, with both values; where none is shown, `name` is empty and the values are classes."""

    name: str
    found: str
    wanted: str
    hidden: str = ""


class Grouping:
    """How a request groups nodes; a job of one node needs no group."""

    def __init__(self, request: Request) -> None:
        self._is_needed = request.nodes > 1
        self._needs_domain = self._is_needed and request.same_domain
        self._uses_host = request.host_nccl
        self._may_differ = frozenset(request.may_differ)
        self._names = (*CLASS_INPUTS, *HOST_INPUTS) if request.host_nccl else CLASS_INPUTS

    def class_of(self, one: Candidate) -> "str | Unread":
        return one.host_class if self._uses_host else one.fabric_class

    def key(self, one: Candidate) -> Key | None:
        """Equal on nodes of one group; None where the node belongs to none."""
        own = self.class_of(one)
        if isinstance(own, Unread):
            return None
        if self._may_differ and release(own) == _OURS and (remaining := self._remaining(one)) is not None:
            return remaining
        return ("", own)

    def _remaining(self, one: Candidate) -> tuple[object, ...] | None:
        """The inputs that may not differ, by name; None where one of them is not known whole. Of a class of another release it is not
        known which they are.
        """
        inputs = one.inputs
        if isinstance(inputs, Unread) or any(name not in inputs and name not in self._may_differ for name in self._names):
            return None
        known = list[tuple[str, str]]()
        for name in sorted(inputs):
            if name in self._may_differ or (not self._uses_host and name in HOST_INPUTS):
                continue
            value = inputs[name]
            if isinstance(value, Unread) or CUT in value:
                return None
            known.append((name, value))
        return tuple(known)

    def reasons(self, one: Candidate) -> Iterator[Reason]:
        """Why the node can be in no group."""
        if self._is_needed and self.key(one) is None:
            yield Reason("NotInClass", f"its class could not be read{self._cause(one)}", NOT_READ, "a class")
        if self._needs_domain and isinstance(one.domain, Unread):
            is_none = one.domain.why in NOT_THERE
            message = "it is in no NVLink domain" if is_none else f"its NVLink domain {predicate(one.domain)}"
            yield Reason("NotInDomain", message, shown(one.domain), "a domain")

    def _cause(self, one: Candidate) -> str:
        if isinstance(one.inputs, Unread):
            return f": the list of its inputs {predicate(one.inputs)}"
        for name in self._names:
            value = one.inputs.get(name)
            if value is None or isinstance(value, Unread):
                return f": {name} {'was not read' if value is None else predicate(value)}"
        return ""

    def difference(self, one: Candidate, largest: Sequence[Candidate]) -> Difference:
        """What `one` has, and what the nodes of the largest class have."""
        other = next((each for each in largest if not isinstance(each.inputs, Unread)), largest[0])
        here, there = _inputs(one), _inputs(other)
        more = sorted(({*here} | {*there}) - {*CLASS_INPUTS, *HOST_INPUTS})
        for name in (*CLASS_INPUTS, *HOST_INPUTS, *more) if self._uses_host else (*CLASS_INPUTS, *more, *HOST_INPUTS):
            found, wanted = here.get(name, NOT_READ), there.get(name, NOT_READ)
            if found != wanted and name not in self._may_differ:
                return Difference(shown(name), *_excerpts(found, wanted))
        mine, theirs = self.class_of(one), self.class_of(other)
        texts = ["" if isinstance(text, Unread) else text for text in (mine, theirs)]
        hidden = DIFFERS_IN_CUT if release(texts[0]) == release(texts[1]) else OTHER_RELEASE
        found, wanted = (shown(text) or "no class" for text in texts)
        return Difference("", found, wanted, hidden)


def _excerpts(found: str, wanted: str) -> tuple[str, str]:
    """Both texts, from a little before where they differ if they are alike for long."""
    if shown(found) == shown(wanted):
        alike = next(place for place, pair in enumerate(zip_longest(found, wanted)) if pair[0] != pair[1])
        found, wanted = (f"…{text[max(0, alike - _BEFORE) :]}" for text in (found, wanted))
    return shown(found), shown(wanted)


def class_reason(grouping: Grouping, one: Candidate, largest: Sequence[Candidate]) -> Reason:
    """Why an eligible node is not in the largest class."""
    name, found, wanted, hidden = grouping.difference(one, largest)
    others = f"{counted(len(largest), 'other')} {wanted}"
    message = f"{hidden} (class {found}, {others})" if hidden else f"{name} {found}, {others}"
    return Reason("NotInClass", message, found, wanted)


def _inputs(one: Candidate) -> dict[str, str]:
    """As they are compared: of an unread one why it is."""
    if isinstance(one.inputs, Unread):
        return {}
    return {name: shown(value) if isinstance(value, Unread) else value for name, value in one.inputs.items()}
