"""``hostagent install``."""

import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.changing import DRY_RUN, KERNEL, YES, asking, conclude, place_options, refuse_ordinary_user, refuse_silence, told
from hostagent.cli.options import color_option, colour_wanted, evidence, prepared_for, profile_option, terminal_width, write
from hostagent.cli.plan import PRIVATE, asked_of, asked_options, form_of, form_options, waiting, with_installation
from hostagent.cli.streams import complain, say
from hostagent.evidence import Evidence, open_host
from hostagent.install.outcome import Outcome
from hostagent.plan.model import Asking
from hostagent.sinks.plan import Format, render_plan

if TYPE_CHECKING:
    from hostagent.app import Prepared
    from hostagent.install.performing import Performance
    from hostagent.plan.document import Document
    from hostagent.plan.model import PlanStep

# A test runs each of them.
_EXAMPLES = examples(
    "hostagent install --dry-run",
    "hostagent install --dry-run --only toolkit --upgrade",
    "hostagent install --dry-run --root image",
)


@click.command("install", context_settings=SETTINGS, epilog=_EXAMPLES)
@YES
@DRY_RUN
@click.option("--no-rollback", is_flag=True, help="Go on where an old package cannot be kept: what it had cannot be restored then.")
@asked_options
@profile_option("Built-in profile, or a file. Default: the site file's, else 'default'.")
@form_options("Output: the plan.", "Write the plan to FILE; - is standard output, the default.")
@color_option
@place_options
@KERNEL
def command(
    yes: bool,
    dry_run: bool,
    no_rollback: bool,
    only: tuple[Asking, ...],
    extras: tuple[str, ...],
    upgrade: bool,
    in_use: bool,
    profile_name: str,
    form: Format | None,
    as_json: bool,
    output: str,
    colour: str,
    **where: Any,
) -> int:
    """Carry out the plan of 'hostagent plan', and prove each part by a new look at the host.

    Exit 0: done, or nothing to do. 1: it failed after the first change; run it again once that is fixed. 2: usage, or hostagent could
    not run. 3: done, and a reboot is due. 4: refused, nothing is changed. 5: another run is at work.
    """
    refuse_silence(yes=yes, dry_run=dry_run)
    asked, place = asked_of(only, extras, upgrade, in_use), evidence(**where, snapshot=None, deadline_s=30)
    person = _Person(form_of(form, as_json=as_json), output, colour, yes=yes)
    prepared = prepared_for(place, profile_name)
    from hostagent.install.looking import looks_at
    from hostagent.install.performing import Performance, Wishes, refuse_without_ansible
    from hostagent.install.target import Target

    if not dry_run:
        refuse_ordinary_user()
        refuse_without_ansible()
    wishes = Wishes(prepared.loaded.profile.install, rollback=not no_rollback, dry_run=dry_run)
    performance = Performance(Target(place), looks_at(place, with_installation(prepared), asked, told=waiting), wishes, person)
    performed = partial(_performed, performance, place, prepared, remember=not profile_name)
    return conclude(told(performed, lambda: performance.began))


def _performed(performance: "Performance", place: Evidence, prepared: "Prepared", *, remember: bool) -> Outcome:
    outcome = performance.perform()
    _check(outcome, place, prepared, remember=remember)
    return outcome


def _check(outcome: Outcome, place: Evidence, prepared: "Prepared", *, remember: bool) -> None:
    """After a run that changed this machine: the whole of it, as ``hostagent check`` judges it; its verdict on one line."""
    if outcome.word not in ("done", "reboot") or not outcome.run or not place.is_this_machine:
        return
    from hostagent import app
    from hostagent.report import state
    from hostagent.sinks import render
    from hostagent.smallfile import reason

    with open_host(place) as reading:
        report = app.examine(reading, prepared)
    if remember:
        try:
            state.save(report, prepared.loaded.files)
        except OSError as error:
            complain(f"Warning: no state written to {state.PATH}: {reason(error)}")
    say(render(report, "line").rstrip("\n"))


class _Person:
    """Plan and result on standard output, progress on standard error: a line that grows on a terminal, plain lines elsewhere."""

    def __init__(self, form: Format, output: str, colour: str, *, yes: bool) -> None:
        self._form, self._output, self._colour = form, output, colour
        self._grows = sys.stderr.isatty()
        self._began = time.monotonic()
        self.agrees = asking("Do this?", yes=yes)

    def show(self, document: "Document") -> None:
        colour = colour_wanted(self._output, self._colour)
        write(render_plan(document, self._form, colour=colour, width=terminal_width()), self._output, PRIVATE)

    def begin(self, number: int, of: int, step: "PlanStep") -> None:
        self._began = time.monotonic()
        line = f"[{number}/{of}] {step.id}: {step.title}"
        if self._grows:
            sys.stderr.write(f"{line} … ")
            sys.stderr.flush()
        else:
            complain(line)

    def end(self, step: "PlanStep", seconds: float, problem: str) -> None:
        word = f"failed: {problem}" if problem else f"{seconds:.1f} s"
        complain(word if self._grows else f"      {step.id}: {word}")

    def say(self, text: str) -> None:
        complain(text)
