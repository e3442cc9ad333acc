"""Values that NCCL ignores, or reads as something else, in silence: by the kind of value that a variable takes."""

import re

from hostagent.core.frozen import frozen
from hostagent.domains.nccl.numbers import begins_with_digits, parse_number
from hostagent.domains.nccl.tables.changes import BLANKS_IGNORED, Version, ignores_words
from hostagent.domains.nccl.tables.variables import ANY_CASE, RANGES, Variable, words

_PLAIN = re.compile(r"[ \t]*[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)[ \t]*")
_QUOTES = "\"'"


@frozen
class Fault:
    """A wrong value, and how NCCL reads it."""

    code: str
    says: str  # completes "NCCL …"
    wanted: str


def fault(variable: Variable, value: str, version: Version) -> "Fault | None":
    """None for a value that NCCL takes as it is, and for one with a form that other modules check.

    >>> fault_of = lambda name, value: fault(variables()[name], value, (2, 28, 9))
    >>> from hostagent.domains.nccl.tables.variables import variables
    >>> fault_of("NCCL_IB_TIMEOUT", "22"), fault_of("NCCL_DMABUF_ENABLE", "on").says, fault_of("NCCL_IB_TIMEOUT", "64").wanted
    (None, 'reads it as 0', '1 to 31')
    """
    if not value:
        return None  # as if it were not set
    if variable.kind == "number":
        return _number(variable, value, version)
    if variable.kind == "words":
        return _word(variable, value, version)
    return _quoted(value) if variable.kind in ("text", "file", "address") else None


def _number(variable: Variable, value: str, version: Version) -> "Fault | None":
    read = parse_number(value)
    default = variable.default(version)
    if read is None:
        return Fault("too-large", "takes the default instead: no number is so large", "a number")
    if not begins_with_digits(value):
        return Fault("word", "takes the default instead" if ignores_words(version) else "reads it as 0", "a number")
    if not _PLAIN.fullmatch(value):
        return Fault("tail", f"reads it as {read}", f"{read}, or another number without anything after it")
    if _is_octal(value):
        return Fault("octal", f"reads it as {read}: a number that begins with 0 is octal", "a number that does not begin with 0")
    first, last = RANGES.get(variable.name, (read, read))
    if first <= read <= last or str(read) == default:
        return None
    return Fault("range", "documents no such value", f"{first} to {last}")


def _is_octal(value: str) -> bool:
    """Whether a leading zero makes it another number.

    >>> [_is_octal(text) for text in ("010", "007", "0", "0x10", "18")]
    [True, False, False, False, False]
    """
    digits = value.strip(" \t+-")
    return len(digits) > 1 and digits.isdecimal() and digits[0] == "0" and parse_number(digits) != int(digits[:20])


def _word(variable: Variable, value: str, version: Version) -> "Fault | None":
    known = words(variable.name, version)
    text = value.strip() if variable.name in ANY_CASE and version >= BLANKS_IGNORED else value
    if not known or (text.upper() if variable.name in ANY_CASE else text) in known:
        return None
    meant = value.strip(" \t\"'").upper()
    return Fault("word-unknown", "ignores it in silence", meant if meant in known else " or ".join(known))


def _quoted(value: str) -> "Fault | None":
    """NCCL takes quotes, blanks and comments as part of the value."""
    if value[0] in _QUOTES and value[-1] == value[0] and len(value) > 1:
        return Fault("quoted", "takes the quotes as part of the value", "no quotes")
    if value != value.strip() or " #" in value:
        return Fault("blanks", "takes blanks and what follows them as part of the value", "no blanks")
    return None
