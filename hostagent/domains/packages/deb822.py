"""Stanzas of fields (deb822(5)): apt's preferences and its .sources files."""

import re
from collections.abc import Iterator


def parse_stanzas(text: str) -> Iterator[dict[str, str]]:
    r"""The fields of each stanza, names in lower case, folded lines joined by a space, comments left out.

    >>> list(parse_stanzas("Package: a b\n c\nPin: version 1.*\n\n# note\nPackage: d\n"))
    [{'package': 'a b c', 'pin': 'version 1.*'}, {'package': 'd'}]
    """
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in re.split(r"\n[ \t]*\n", "\n".join(lines)):
        rows = (line.partition(":") for line in re.sub(r"\n[ \t]+", " ", stanza).split("\n"))
        if fields := {key.strip().lower(): value.strip() for key, colon, value in rows if colon}:
            yield fields
