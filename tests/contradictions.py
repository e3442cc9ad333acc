"""Finds a headline that says the opposite of its finding's text, or a text that contradicts itself, by rules about words and numbers."""

import re
from collections.abc import Iterator
from typing import NamedTuple


class Printed(NamedTuple):
    """What a report prints of one finding."""

    headline: str
    message: str
    found: str = ""
    wanted: str = ""
    device: str = ""
    subject: str = ""


#: States of one thing: it has them or not.
_STATES = "loaded|running|enabled|active|installed|built|signed|ready|licensed|mounted|registered|blacklisted|drained"
_NEGATION = r"(?:no|not|never|none|neither|nothing|without|cannot|lacks?)"
_DENIED = re.compile(rf"\b{_NEGATION}\b(?:(?![;,]|: |\band\b)[^\n])*?\b({_STATES})\b", re.IGNORECASE)
_AFFIRMED = re.compile(rf"\b(?:is|are|runs) (?:already )?({_STATES})\b", re.IGNORECASE)
_LACK = re.compile(r"\b(?:has|have|is|are|finds?) no ((?:\w+ )?\w+)(?: on disk)?$", re.IGNORECASE)
_UNREADABLE = re.compile(r"cannot (?:be read|read)")
_ERROR = re.compile(r"cannot|error|invalid|unread|denied|refus|no library|needs", re.IGNORECASE)
_LAST_RUN = re.compile(r"\b[Tt]he last \w+ (?:run|refresh|start|build)")
_BOUND = re.compile(r"[<>]=? *(.+)")
_NUMBER = re.compile(r"(?<!NVLink )(?<!GPU )(?<!rail )(?<![\w.:/-])\d+(?:\.\d+)*(?![\w:/-])")
_HOLES = re.compile(r"\b(?:is|has|are) ,|\(\)|: $|\bfor no (\w+), but not for \1\b")


def contradictions(one: Printed) -> Iterator[str]:
    """What is wrong with it, in words; nothing for a text that agrees with itself."""
    headline, text = one.headline.replace(one.device or "\0", "").strip(" :"), f"{one.message}; {one.found}"
    if not headline or headline in (one.subject, one.device):
        yield "the headline is the name of its subject"
    denied, affirmed = _states(_DENIED, headline), _affirmed(text)
    yield from (f"the headline denies {state!r}, the text affirms it" for state in sorted(denied & affirmed))
    denied, affirmed = _states(_DENIED, one.message), _affirmed(headline)
    yield from (f"the headline affirms {state!r}, the text denies it" for state in sorted(denied & affirmed))
    lack = _LACK.search(headline)
    if lack and re.search(rf"(?<!no )\b(?:the|a|an) {re.escape(lack[1])}\b[^;,]* (?:is|are)\b(?! (?:not|missing))", one.message):
        yield f"the headline says that there is no {lack[1]}, the text has one"
    if _UNREADABLE.search(headline) and not _ERROR.search(text):
        yield "the headline says that it cannot be read, the text that it was"
    if _LAST_RUN.search(headline) and "has not run" in text:
        yield "the headline is about a last run, the text has none"
    if (bound := _BOUND.fullmatch(one.wanted)) and bound[1].split(" ")[:2] == one.found.split(" ")[:2] and "=" in one.wanted[:2]:
        yield f"found is {one.found}, which is what is wanted"
    if one.found and one.found == one.wanted:
        yield "found is what is wanted"
    shown = set(_NUMBER.findall(f"{text} {one.wanted} {one.device} {one.subject}"))
    yield from (f"{number} of the headline is not in the text" for number in _NUMBER.findall(headline) if number not in shown)
    yield from (f"a hole in {part!r}" for part in (one.headline, one.message) if _HOLES.search(part))


def _states(pattern: "re.Pattern[str]", text: str) -> set[str]:
    return {match[1].lower() for match in pattern.finditer(text)}


def _affirmed(text: str) -> set[str]:
    """States that a text affirms and does not deny."""
    return _states(_AFFIRMED, text) - _states(_DENIED, text)
