"""The kernel log of this boot, as it comes from the host or from a tape."""

from typing import NamedTuple

from hostagent.facts.unread import Unread
from hostagent.source import Source
from hostagent.source.keep import Keep

#: What events of GPUs and refused module keys are read from.
_MESSAGES = Keep(
    "messages",
    (
        *("NVRM", r"nvidia-nvswitch\d", r"nvidia (?:PCI:)?[0-9a-fA-F]{4,8}:", "firmware load for nvidia/"),
        *("(?i:key was rejected|unavailable key|unsigned module|required key|trusted key|module verification)",),
    ),
)


class KernelLog(NamedTuple):
    """The lines that name the GPU driver or a module key, oldest first; ``complete``: the log reaches back to the boot."""

    lines: tuple[str, ...]
    complete: "bool | Unread"


def read_kernel_log(source: Source) -> "KernelLog | Unread":
    log = source.kernel_log(keep=_MESSAGES)
    if isinstance(log, Unread):
        return log
    lines, complete = log.get("lines"), log.get("complete")
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        return Unread("error", "kernel_log: lines is no list of texts")
    whole = complete if isinstance(complete, bool) else Unread("error", "kernel_log: complete is not true or false")
    return KernelLog(tuple(lines), whole)
