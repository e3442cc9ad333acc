"""Outcome of a run with its exit code, which is a contract."""

# An `install` that could not begin (2, or 5 before there is a plan) writes no JSON. `rollback` never exits 3: a driver that is
# still loaded is found by the next check. What goes wrong in the check after a live run is exit 1 of the run.

from dataclasses import dataclass
from typing import Protocol

from hostagent.core.vocabulary import Ending
from hostagent.plan.document import Document
from hostagent.plan.model import PlanStep

CODES: dict[Ending, int] = {"done": 0, "nothing": 0, "reboot": 3, "refused": 4, "declined": 4, "failed": 1, "busy": 5}


@dataclass(frozen=True)
class Outcome:
    """`message`: one sentence for a person; `run` is the number of the run, 0 where none was begun."""

    word: Ending
    message: str = ""
    run: int = 0
    notes: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        return CODES[self.word]


class UserInterface(Protocol):
    """User-interface callbacks."""

    def show(self, document: Document) -> None:
        """The plan, before it is carried out."""

    def agrees(self) -> bool:
        """Whether it may be carried out."""

    def begin(self, number: int, of: int, step: PlanStep) -> None:
        """A step begins."""

    def end(self, step: PlanStep, seconds: float, problem: str) -> None:
        """And ends; `problem` "" where it went well."""

    def say(self, text: str) -> None:
        """Anything else that happens."""


class RefusedError(Exception):
    """Nothing was changed, for this reason; `remedy` is what to do about it."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message, self.remedy = message, remedy
