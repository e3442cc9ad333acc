"""A fleet as text for a person at a terminal, as one page of HTML, or as JSON."""

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from hostagent.derived.words import counted
from hostagent.gate.fleet import Cause, Class, Counts, Fleet, State
from hostagent.gate.wording import names_of
from hostagent.sinks.page import Page
from hostagent.visible import cut

Format = Literal["text", "html", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
#: States in the order and the words in which they are printed.
WORDS: dict[State, str] = {"ready": "ready", "degraded": "degraded", "not_ready": "not ready", "unknown": "unknown", "stale": "stale"}
#: Names of nodes that are printed before a count of the others; causes, classes, domains and lines below a class.
NAMES, _CAUSES, _CLASSES, _DOMAINS, _DIFFERENCES, _ODD = 10, 30, 20, 20, 5, 10
#: Letters of a value, and of a name: a class is any text.
_VALUE, _NAME = 80, 64
_COLOURS = {"critical": "BLOCKS JOBS", "warning": "TO LOOK AT", "": "NOT CHECKED"}
_BELOW = "    "


def render_fleet(found: Fleet, form: Format, *, colour: bool = False, width: int = 100) -> str:
    """`colour` and `width` are for text."""
    if form == "json":
        from hostagent.sinks.json import render_json

        return render_json(found)
    if form == "html":
        from hostagent.sinks.fleethtml import render_html

        return render_html(found)
    return _text(found, Page(colour, width))


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
    """What sets a class apart from the largest one, which has `others` nodes, and what sets nodes apart inside."""
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
        yield f"and {_more(len(lines) - most, 'difference')}"


def _value(text: str) -> str:
    """With the mark that ends it."""
    return f"{short(text)}{';' if ',' in text else ','}"


def _more(count: int, word: str) -> str:
    return f"{count} more {word}{'' if count == 1 else 'es' if word.endswith('s') else 's'}"


def _text(found: Fleet, page: Page) -> str:
    page.add(headline(found.counts), style="ready" if found.counts.single_node else "not_ready")
    for state, word in WORDS.items():
        count = getattr(found.counts, state)
        page.add(f"{count:>6} {word}", first="", style=("unknown" if state == "stale" else state) if count else "")
    _put_causes(found, page)
    _put_classes(found, page)
    if found.without_class:
        page.heading("NODES WITHOUT A CLASS")
        for one in found.without_class[:_CLASSES]:
            page.add(f"{counted(len(one.nodes), 'node')}: {short(one.why, 4 * _VALUE)}", "  ", _BELOW)
            page.add(names_of(one.nodes), _BELOW)
        _put_rest(len(found.without_class) - _CLASSES, "reason", page)
    if found.warnings:
        page.heading("FILES THAT DO NOT COUNT")
        for text in found.warnings[:NAMES]:
            page.add(short(text, 4 * _VALUE), "  ", _BELOW)
        _put_rest(len(found.warnings) - NAMES, "file", page)
    return "\n".join(page.lines) + "\n"


def _put_causes(found: Fleet, page: Page) -> None:
    if found.causes:
        page.heading("CAUSES")
    for one in found.causes[:_CAUSES]:
        page.add(f"{counted(len(one.nodes), 'node')}: {headline_of(one)}", "  ", _BELOW, _COLOURS.get(one.severity, ""))
        named = reason_of(one)
        page.add(f"{named}: {names_of(one.nodes)}" if named and one.headline else names_of(one.nodes), _BELOW)
    _put_rest(len(found.causes) - _CAUSES, "cause", page)


def _put_classes(found: Fleet, page: Page) -> None:
    states = states_of(found)
    if found.classes:
        page.heading("CLASSES")
    for one in found.classes[:_CLASSES]:
        what = f": {short(one.gpus)}" if one.gpus else ""
        page.add(f"{counted(len(one.nodes), 'node')}{what}", "  ", _BELOW)
        page.add(f"class {short(one.fabric_class, _NAME)}: {in_words(one.nodes, states)}", _BELOW)
        for domain in one.domains[:_DOMAINS]:
            page.add(f"domain {short(domain.domain, _NAME)}: {names_of(domain.nodes)}" if domain.domain else names_of(domain.nodes), _BELOW)
        _put_rest(len(one.domains) - _DOMAINS, "domain", page)
        for line in differences(one, len(found.classes[0].nodes)):
            page.add(line, f"{_BELOW}- ", f"{_BELOW}  ")
    _put_rest(len(found.classes) - _CLASSES, "class", page)


def _put_rest(count: int, word: str, page: Page) -> None:
    if count > 0:
        page.add(f"and {_more(count, word)}; --format json has all", _BELOW)
