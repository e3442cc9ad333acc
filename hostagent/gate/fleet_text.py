"""A fleet as text for a person at a terminal, as one page of HTML, or as JSON."""

from typing import Literal, get_args

from hostagent.core.text import counted
from hostagent.gate.fleet import Fleet
from hostagent.gate.fleet_words import NAMES, WORDS, differences, headline, headline_of, in_words, more, reason_of, short, states_of
from hostagent.gate.wording import names_of
from hostagent.outputs.page import Page

Format = Literal["text", "html", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
#: Items printed before a count of the others.
_CAUSES, _CLASSES, _DOMAINS = 30, 20, 20
#: Letters of a name, and of a sentence: a class is any text.
_NAME, _SENTENCE = 64, 320
_COLOURS = {"critical": "BLOCKS JOBS", "warning": "TO LOOK AT", "": "NOT CHECKED"}
_BELOW = "    "


def render_fleet(found: Fleet, form: Format, *, colour: bool = False, width: int = 100) -> str:
    """`colour` and `width` are for text."""
    if form == "json":
        from hostagent.outputs.json import render_json

        return render_json(found)
    if form == "html":
        from hostagent.gate.fleet_html import render_html

        return render_html(found)
    return _text(found, Page(colour, width))


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
            page.add(f"{counted(len(one.nodes), 'node')}: {short(one.why, _SENTENCE)}", "  ", _BELOW)
            page.add(names_of(one.nodes), _BELOW)
        _put_rest(len(found.without_class) - _CLASSES, "reason", page)
    if found.warnings:
        page.heading("FILES THAT DO NOT COUNT")
        for text in found.warnings[:NAMES]:
            page.add(short(text, _SENTENCE), "  ", _BELOW)
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
        page.add(f"and {more(count, word)}; --format json has all", _BELOW)
