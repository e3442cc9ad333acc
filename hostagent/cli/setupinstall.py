"""``hostagent setup --install``: for ``hostagent.cli.setup``, and imported only there."""

import sys
from typing import TYPE_CHECKING

import click

from hostagent.cli.changing import asking, outcome_of
from hostagent.cli.options import terminal_width
from hostagent.cli.plan import waiting, with_installation
from hostagent.cli.progress import Progress
from hostagent.cli.setuplines import HostPass, print_verdict, read_host
from hostagent.cli.streams import complain
from hostagent.engine.target import Evidence
from hostagent.install.asroot import again, is_root, sudo
from hostagent.install.outcome import Outcome
from hostagent.setup.distribution import distribution
from hostagent.setup.ended import Why, with_reasons, with_reboot
from hostagent.setup.line import Line
from hostagent.setup.manual import ABORTED, NO_ROOT, by_hand
from hostagent.setup.request import MISSING, Request
from hostagent.setup.verdict import Verdict, verdict

if TYPE_CHECKING:
    from hostagent.install.apply import Apply
    from hostagent.plan.document import Document
    from hostagent.plan.model import PlanStep


def install(request: Request, place: Evidence, profile_name: str, *, yes: bool, as_json: bool) -> int:
    """Install what is missing, then print the lines again. All else goes to standard error."""
    if place.snapshot:
        raise click.UsageError("found --install and --from, wanted a host: a recorded one cannot be changed")
    if not is_root():
        return _again_as_root(request)
    host = read_host(request, place, profile_name)
    system = distribution(host.facts)
    if not system.installs:
        complain(*by_hand(request, system))
        return MISSING
    if not yes and not sys.stdin.isatty():
        complain("Error: found neither --yes nor a terminal to ask at. Nothing is changed.")
        return MISSING
    person = _Person(yes=yes)
    apply = _performance(request, place, host, person)
    outcome = outcome_of(apply.perform, lambda: apply.began)
    if outcome.word == "declined":
        return print_verdict(request, Verdict((Line("", ABORTED),), MISSING), host.report, as_json=as_json)
    after = read_host(request, place, profile_name)
    found = verdict(request, after.facts, after.tools, after.report, closing=False)
    return print_verdict(request, _concluded(outcome, found, person), after.report, as_json=as_json)


def _again_as_root(request: Request) -> int:
    """Does not return where sudo starts it."""
    program = sudo()
    if not program:
        complain(NO_ROOT)
        return MISSING
    return again(program, request.variables, sys.argv[1:])


def _performance(request: Request, place: Evidence, host: HostPass, person: "_Person") -> "Apply":
    from hostagent.install.apply import Apply, Wishes
    from hostagent.install.ourselves import refuse_without_ansible
    from hostagent.install.replan import replan_of
    from hostagent.install.target import Target
    from hostagent.setup.wanted import wanted

    refuse_without_ansible()
    made, asked = wanted(host.prepared.loaded, request, host.facts)
    prepared = with_installation(host.prepared._replace(loaded=made))
    return Apply(Target(place), replan_of(place, prepared, asked, on_progress=waiting), Wishes(made.profile.install), person)


def _concluded(outcome: Outcome, found: Verdict, person: "_Person") -> Verdict:
    """Maps our exit codes to the script's two."""
    if outcome.run:
        complain(
            f"This is run {outcome.run}. Take it back with 'hostagent rollback'; its log is /var/lib/hostagent/runs/{outcome.run}/log."
        )
    if outcome.word in ("done", "nothing"):
        return found
    if outcome.word == "reboot":
        return with_reboot(found)
    if outcome.word == "busy":
        return with_reasons(found, "busy", [Why(outcome.message, "Wait until it has ended, then run this again.")])
    if outcome.word == "failed":
        return with_reasons(found, "failed", [Why(outcome.message, "Fix that, then run the same command again: it continues.")])
    return with_reasons(found, "refused", person.refusals or [Why(outcome.message, next(iter(outcome.notes), ""))])


class _Person:
    """Plan, question and progress on standard error."""

    def __init__(self, *, yes: bool) -> None:
        self.refusals: list[Why] = []
        self._progress = Progress()
        self._asks = asking("Do this?", yes=yes)
        self._progress = Progress()

    def show(self, document: "Document") -> None:
        from hostagent.outputs.plan import render_plan

        self.refusals = [
            Why(one.headline, *((one.remedy[0].text, one.remedy[0].command) if one.remedy else ("",))) for one in document.refusals
        ]
        sys.stderr.write(render_plan(document, "text", width=terminal_width(), advise=False))
        sys.stderr.flush()

    def agrees(self) -> bool:
        try:
            return self._asks()
        except click.Abort:
            return False

    def begin(self, number: int, of: int, step: "PlanStep") -> None:
        self._progress.begin(f"[{number}/{of}] {step.id}: {step.title}")

    def end(self, step: "PlanStep", seconds: float, problem: str) -> None:
        self._progress.end(seconds, problem, step.id)

    def say(self, text: str) -> None:
        complain(text)
