"""The result of an installation as lines after those of the script: callers know two exit codes, and search for texts."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from hostagent.setup.line import Line
from hostagent.setup.request import MISSING
from hostagent.setup.verdict import Verdict

Word = Literal["refused", "failed", "busy"]
REBOOT = "a reboot is due"
_SAID = {"refused": "installation refused", "failed": "installation failed", "busy": "installation not begun"}
#: The place of the script's own hints, below the words behind a mark.
_BELOW = " " * 9


class Why(NamedTuple):
    """One reason of a failure, and the first step to fix it."""

    headline: str
    step: str
    command: str = ""


def with_reboot(found: Verdict) -> Verdict:
    return Verdict((*found.lines, Line("MISSING", REBOOT)), MISSING)


def with_reasons(found: Verdict, word: Word, reasons: Iterable[Why]) -> Verdict:
    lines = [line for why in reasons for line in _lines(word, why)]
    return Verdict((*found.lines, *lines), MISSING)


def _lines(word: Word, why: Why) -> list[Line]:
    hints = [text for text in (why.step, f"  {why.command}" if why.command else "") if text]
    return [Line("MISSING", f"{_SAID[word]}: {why.headline}"), *(Line("", f"{_BELOW}{text}") for text in hints)]
