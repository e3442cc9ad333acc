"""os-release(5): what a host says it is, in the quoting of a shell.

Read here and not by a library: distro tokenises in quadratic time, and the code name that it looks for in a 64 KiB ``VERSION``
costs it a minute; importing it costs more than all questions to a host's files.
"""

import re

from hostagent.facts.unread import Unread
from hostagent.source.base import KIB

#: A real one has less than one.
MAX_BYTES = 64 * KIB
_ASSIGNMENT = re.compile(r"[ \t]*([A-Za-z_][A-Za-z0-9_]*)=")
#: One piece of a value: in double quotes, in single ones, a character behind a backslash, plain text.
_PIECE = re.compile(r""""((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)|([^ \t\r"'\\]+)""", re.DOTALL)
#: Inside double quotes a backslash stands for itself before any other character.
_ESCAPED = re.compile(r'\\([\\$"`])')


def parse_os_release(text: str) -> "dict[str, str] | Unread":
    r"""The values by their names in lower case; of a name that comes twice the last.

    >>> parse_os_release('NAME="Rocky Linux"\nVERSION_ID=\'9.6\'\n# ID=no\nID=rocky\n')
    {'name': 'Rocky Linux', 'version_id': '9.6', 'id': 'rocky'}
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if name := _ASSIGNMENT.match(line):
            value = _word(line, name.end())
            if value is None:
                return Unread("error", f"os-release: line {number} has a quote without an end")
            found[name[1].lower()] = value
    return found


def _word(line: str, at: int) -> "str | None":
    """The word from `at` on; what stands behind it is a comment, or nothing that a shell would assign. None where a quote is open."""
    pieces: list[str] = []
    while piece := _PIECE.match(line, at):
        double, *others = piece.groups()
        pieces.append(_ESCAPED.sub(r"\1", double) if double is not None else next(one for one in others if one is not None))
        at = piece.end()
    return None if line[at : at + 1] in ('"', "'", "\\") else "".join(pieces)
