"""Progress and result of ``install``: text for a person during the run, or one document for a program at its end."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from hostagent.cli.changing import asking
from hostagent.cli.options import STANDARD, colour_wanted, terminal_width, write
from hostagent.cli.plan import PRIVATE
from hostagent.cli.progress import Progress
from hostagent.cli.streams import complain, say
from hostagent.core.filewrite import has_place
from hostagent.outputs.plan import Format, render_plan

if TYPE_CHECKING:
    from hostagent.install.apply import Apply
    from hostagent.install.outcome import Outcome
    from hostagent.plan.document import Document, ResultDocument
    from hostagent.plan.model import PlanStep

#: Result of a step that began, where this process was interrupted or failed.
_UNSEEN = "hostagent ended before it did"


class Person:
    """The text of the plan on standard output before anything is changed, else the document with its result once, at the end. Progress is
    on standard error: a line that grows on a terminal, plain lines elsewhere.
    """

    def __init__(self, form: Format, output: str, colour: str, *, yes: bool) -> None:
        self._form, self._output, self._colour, self._yes = form, "" if output == STANDARD else output, colour, yes
        self._is_late = form == "json" or self._output != ""
        self._progress = Progress()
        self._began = time.monotonic()
        self._document: Document | None = None
        self._steps: dict[str, tuple[float, str | None]] = {}
        self._verdict: tuple[str, ...] = ()
        if self._output and not has_place(self._output):
            raise click.ClickException(f"cannot write {output}: its directory does not exist")

    def show(self, document: "Document") -> None:
        self._document = document
        if not self._is_late:
            self._write(document)

    def _write(self, document: "Document") -> None:
        colour = colour_wanted(self._output, self._colour)
        write(render_plan(document, self._form, colour=colour, width=terminal_width(), advise=False), self._output, PRIVATE)

    def agrees(self) -> bool:
        if self._is_late and self._document is not None and not self._yes:
            complain(*render_plan(self._document, "text", width=terminal_width(), advise=False).rstrip("\n").split("\n"))
        return asking("Do this?", yes=self._yes)()

    def begin(self, number: int, of: int, step: "PlanStep") -> None:
        self._began = time.monotonic()
        self._steps[step.id] = (0.0, None)
        self._progress.begin(f"[{number}/{of}] {step.id}: {step.title}")

    def end(self, step: "PlanStep", seconds: float, problem: str) -> None:
        self._steps[step.id] = (seconds, problem)
        self._progress.end(seconds, problem, step.id)

    def say(self, text: str) -> None:
        complain(text)

    def tell(self, *lines: str) -> None:
        """Prints the result on standard output, unless a document goes there."""
        (complain if self._form == "json" and not self._output else say)(*lines)

    def judge(self, line: str) -> None:
        """Prints the verdict of a check of the whole host after the run."""
        self._verdict = (line,)
        self.tell(line)

    def concluded(self, outcome: "Outcome", apply: "Apply") -> "Outcome":
        """Writes the document, where that was not done yet, at the end of the run; a dry run has no result."""
        if not self._is_late or self._document is None:
            return outcome
        number = outcome.run or (apply.run.number if apply.run else 0)
        result = None if apply.wishes.dry_run else self._result(outcome, number)
        try:
            self._write(replace(self._document, result=result))
        except click.ClickException as error:
            if not apply.began:
                raise
            return replace(outcome, word="failed", message=f"{error.message}; the run itself: {outcome.word} {outcome.message}".rstrip())
        return outcome

    def _result(self, outcome: "Outcome", number: int) -> "ResultDocument":
        from hostagent.plan.document import ResultDocument, StepResult

        named, colon, why = outcome.message.partition(": ")  # a message names the step that was not proved
        now = round(time.monotonic() - self._began, 1)
        steps = list[StepResult]()
        for step, (seconds, result) in self._steps.items():
            unproved = why if colon and named == step else ""
            steps.append(StepResult(step, now, _UNSEEN) if result is None else StepResult(step, seconds, result or unproved))
        notes = (*outcome.notes, *self._verdict)
        return ResultDocument(outcome.word, outcome.code, number or None, outcome.message, notes, tuple(steps))
