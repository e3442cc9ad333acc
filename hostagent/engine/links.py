"""References of checks as links: each part of the text that names a document, and its address."""

import re
from typing import NamedTuple

from hostagent.core.tables.documents import BULLETIN, DOCUMENTS, MANUAL, MANUALS, REPOSITORIES


class Part(NamedTuple):
    """A piece of a reference. `url` is "" where it names nothing that can be opened."""

    text: str
    url: str = ""


_MANUAL = re.compile(r"[\w.+-]+\((\d)\)")
_TRACKED = re.compile(r"(?P<name>[\w./-]+(?: [\w./-]+)*?) (?P<kind>issues?|pull requests?) (?P<numbers>\d+(?:(?:, | and )\d+)*)")
_BULLETINS = re.compile(r"\d{4}(?:, \d{4})*")
_JOINED = re.compile(r"^(?:, )?(?:and )?")


def parts(reference: str) -> tuple[Part, ...]:
    """`reference` in parts whose texts make up the whole again.

    >>> [part.url for part in parts("NVIDIA/gpu-operator issues 126 and 2166") if part.url]
    ['https://github.com/NVIDIA/gpu-operator/issues/126', 'https://github.com/NVIDIA/gpu-operator/issues/2166']
    >>> parts("ld.so(8)")
    (Part(text='ld.so(8)', url='https://manpages.debian.org/ld.so.8'),)
    >>> parts("a rumour")
    (Part(text='a rumour', url=''),)
    """
    if reference.startswith(("https://", "http://")):
        return (Part(reference, reference),)
    if "security bulletin" in reference:
        return _numbers(reference, _BULLETINS, BULLETIN)
    found = _tracked(reference) or _manuals(reference)
    if found:
        return found
    name = max((name for name in DOCUMENTS if reference.startswith(name)), key=len, default="")
    return (Part(reference, DOCUMENTS.get(name, "")),)


def _tracked(reference: str) -> tuple[Part, ...]:
    """Issues and pull requests of a repository; its name stays plain, each number is a link."""
    made: list[Part] = []
    place = 0
    for found in _TRACKED.finditer(reference):
        before = _JOINED.match(found["name"])
        name = found["name"][before.end() if before else 0 :]
        repository = REPOSITORIES.get(name, name)
        if repository.count("/") != 1:
            return ()
        kind = "pull" if found["kind"].startswith("pull") else "issues"
        made.append(Part(reference[place : found.start("numbers")]))
        made += _numbers(found["numbers"], re.compile(r"[\d, and]+"), f"https://github.com/{repository}/{kind}/{{}}")
        place = found.end()
    whole = (*made, *((Part(reference[place:]),) if made and place < len(reference) else ()))
    urls = [part.url for part in whole if part.url]
    return (Part(reference, urls[0]),) if len(urls) == 1 else whole


def _manuals(reference: str) -> tuple[Part, ...]:
    made: list[Part] = []
    place = 0
    for found in _MANUAL.finditer(reference):
        name = found[0]
        made += [Part(reference[place : found.start()]), Part(name, MANUALS.get(name, MANUAL.format(name[:-3], found[1])))]
        place = found.end()
    if not made:
        return ()
    return tuple(part for part in (*made, Part(reference[place:])) if part.text)


def _numbers(text: str, where: re.Pattern[str], url: str) -> tuple[Part, ...]:
    """Each number of `text` within what `where` finds, as a link."""
    made: list[Part] = []
    place = 0
    for found in where.finditer(text):
        for number in re.finditer(r"\d+", found[0]):
            start = found.start() + number.start()
            made += [Part(text[place:start]), Part(number[0], url.format(number[0]))]
            place = found.start() + number.end()
    return tuple(part for part in (*made, Part(text[place:])) if part.text)
