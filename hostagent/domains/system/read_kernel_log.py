"""The kernel log of this boot, from the host or from a recording."""

import math
from typing import Any, NamedTuple

from hostagent.core.retention import Keep
from hostagent.core.unread import Unread
from hostagent.host.source import Source

#: Messages about GPU events and rejected module keys.
_MESSAGES = Keep(
    "messages",
    (
        *("NVRM", r"nvidia-nvswitch\d", r"nvidia (?:PCI:)?[0-9a-fA-F]{4,8}:", "firmware load for nvidia/"),
        *("(?i:key was rejected|unavailable key|unsigned module|required key|trusted key|module verification)",),
    ),
)


class KernelLog(NamedTuple):
    """The messages that name the GPU driver or a module key, oldest first; ``complete``: the log reaches back to the boot."""

    lines: tuple[str, ...]
    complete: "bool | Unread"
    times: "tuple[float | Unread, ...]"  # of each line, in seconds since the boot
    oldest: "float | Unread"  # of the first record that is there, in seconds since the boot


def read_kernel_log(source: Source) -> "KernelLog | Unread":
    log = source.kernel_log(keep=_MESSAGES)
    if isinstance(log, Unread):
        return log
    lines, complete = log.get("lines"), log.get("complete")
    messages = [_message(line) for line in lines] if isinstance(lines, list) else [None]
    if None in messages:
        return Unread("error", "kernel_log: lines is no list of seconds and texts")
    whole = complete if isinstance(complete, bool) else Unread("error", "kernel_log: complete is not true or false")
    return KernelLog(tuple(one for one in messages if one is not None), whole, tuple(map(_time, lines or ())), _seconds(log.get("oldest")))


def _time(line: Any) -> "float | Unread":
    """The time of a record, ``[seconds since the boot, text]``; unread in recordings that have only the text."""
    return _seconds(line[0] if isinstance(line, list) and line else None)


def _seconds(value: Any) -> "float | Unread":
    """Seconds since the boot.

    >>> _seconds(5.14), _seconds(None)
    (5.14, Unread('not-recorded', 'kernel_log: the tape has no time'))
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else Unread("not-recorded", "kernel_log: the tape has no time")


def _message(line: Any) -> "str | None":
    r"""The text of one record: ``[seconds since the boot, text]``, or only the text in old recordings.

    Old recordings have a line break within a message as /dev/kmsg escapes it.

    >>> _message([5.14, "NVRM: loading"]), _message(r"NVRM: a\x0aNVRM: b"), _message([5.14])
    ('NVRM: loading', 'NVRM: a\nNVRM: b', None)
    """
    match line:
        case str():
            return line.replace("\\x0a", "\n")
        case [int() | float() as seconds, str(text)] if math.isfinite(seconds):
            return text
    return None
