"""Texts of a fleet, for the terminal and its page."""

from collections.abc import Iterator, Sequence

from hostagent.core.escape import cut
from hostagent.core.text import counted
from hostagent.gate.fleet import Cause, Class, Counts, Fleet, State
from hostagent.gate.wording import names_of

#: States in the order and the words in which they are printed.
WORDS: dict[State, str] = {"ready": "ready", "degraded": "degraded", "not_ready": "not ready", "unknown": "unknown", "stale": "stale"}
#: Names of nodes that are printed before a count of the others; lines below a class.
NAMES, _DIFFERENCES, _ODD = 10, 5, 10
#: Letters of a value.
_VALUE = 80


def short(text: str, most: int = _VALUE) -> str:
    """`text`, cut where it is long."""
    return cut(text, most + 1)


def headline(counts: Counts) -> str:
    """The fleet in one sentence."""
    if not counts.nodes:
        return "No node: found no report"
    several = f", {counts.multi_node} of them jobs on several nodes" if counts.single_node else ""
    return f"{counts.single_node} of {counted(counts.nodes, 'node')} may take jobs{several}"


def states_of(found: Fleet) -> "dict[str, State]":
    """By node."""
    return {one.node: one.state for one in found.nodes}


def in_words(names: Sequence[str], states: "dict[str, State]") -> str:
    """Such as 6 ready, 1 stale."""
    those = [states[name] for name in names]
    return ", ".join(f"{those.count(state)} {word}" for state, word in WORDS.items() if state in those)


def reason_of(cause: Cause) -> str:
    """Check and code; empty where the summary itself is the cause."""
    return f"{cause.id} {cause.code}".strip() if cause.id else ""


def headline_of(cause: Cause) -> str:
    """What happened, and where, if it is not the same on all nodes."""
    if not cause.headline:
        return reason_of(cause)
    return f"{cause.headline} ({cause.headline_of})" if cause.headlines > 1 else cause.headline


def differences(one: Class, others: int) -> "list[str]":
    """Differences of a class from the largest one, which has `others` nodes, and differences of nodes inside it."""
    found = [f"{each.name} {_value(each.found)} {counted(others, 'other')} {short(each.wanted)}" for each in one.differs]
    if one.differs_hidden:
        found.append(f"differs from the largest class by {one.differs_hidden}")
    odd = [
        f"{each.fact} {short(each.found)} on {names_of(each.nodes)}; {counted(each.others, 'other')} {short(each.wanted)}"
        for each in one.odd
    ]
    return [*_first(found, _DIFFERENCES), *_first(odd, _ODD)]


def _first(lines: Sequence[str], most: int) -> Iterator[str]:
    yield from lines[:most]
    if len(lines) > most:
        yield f"and {more(len(lines) - most, 'difference')}"


def _value(text: str) -> str:
    """With the mark that ends it."""
    return f"{short(text)}{';' if ',' in text else ','}"


def more(count: int, word: str) -> str:
    return f"{count} more {word}{'' if count == 1 else 'es' if word.endswith('s') else 's'}"
