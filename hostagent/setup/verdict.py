"""Facts and tools to the script's lines and its exit code. Nothing here reads a host."""

from typing import Literal, NamedTuple

from hostagent.facts.hostfacts import HostFacts
from hostagent.report import Report
from hostagent.setup.request import Request
from hostagent.setup.told import Tools

Mark = Literal["OK", "MISSING", "WARN", "INFO"]


class Line(NamedTuple):
    """`mark` "" is a hint without a mark."""

    mark: Literal["OK", "MISSING", "WARN", "INFO", ""]
    text: str

    def __str__(self) -> str:
        return f"{self.mark}: {self.text}" if self.mark else self.text


class Verdict(NamedTuple):
    lines: tuple[Line, ...]  # in the script's order and words, what hostagent knows beyond it behind them
    exit: int


def verdict(request: Request, facts: HostFacts, tools: Tools, report: Report) -> Verdict:
    """What the script would print, without its false passes."""
    raise NotImplementedError
