"""``hostagent install``."""

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.changing import DRY_RUN, KERNEL, YES, conclude, outcome_of, place_options, refuse_ordinary_user, refuse_silence
from hostagent.cli.options import color_option, evidence, prepared_for, profile_option
from hostagent.cli.person import Person
from hostagent.cli.plan import asked_of, asked_options, form_of, form_options, waiting, with_installation
from hostagent.cli.streams import complain
from hostagent.engine.target import Evidence, open_host
from hostagent.install.outcome import Outcome
from hostagent.outputs.plan import Format
from hostagent.plan.model import Asking

if TYPE_CHECKING:
    from hostagent.engine.pipeline import Prepared
    from hostagent.install.apply import Apply

# A test runs each of them.
_EXAMPLES = examples(
    "hostagent install --dry-run",
    "hostagent install --dry-run --only toolkit --upgrade",
    "hostagent install --dry-run --root image",
)


@click.command("install", context_settings=SETTINGS, epilog=_EXAMPLES)
@YES
@DRY_RUN
@click.option("--no-rollback", is_flag=True, help="Go on where an old package cannot be kept; a rollback then cannot restore it.")
@asked_options
@profile_option("Built-in profile, or a file. Default: the site file's, else 'default'.")
@form_options("Output: the plan; JSON also has the result.", "Write the output to FILE, at the end; - is standard output, the default.")
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
    """Apply the plan of 'hostagent plan', and verify each part by a new reading of the host.

    Exit 0: done, or nothing to do. 1: it failed after the first change; run it again once that is fixed. 2: usage, or hostagent could
    not run. 3: done, and a reboot is due. 4: refused, nothing is changed. 5: another run is at work.
    """
    refuse_silence(yes=yes, dry_run=dry_run)
    asked, place = asked_of(only, extras, upgrade, in_use), evidence(**where, snapshot=None, deadline_s=30)
    person = Person(form_of(form, as_json=as_json), output, colour, yes=yes)
    prepared = prepared_for(place, profile_name)
    from hostagent.install.apply import Apply, Wishes
    from hostagent.install.ourselves import refuse_without_ansible
    from hostagent.install.replan import replan_of
    from hostagent.install.target import Target

    if not dry_run:
        refuse_ordinary_user()
        refuse_without_ansible()
    wishes = Wishes(prepared.loaded.profile.install, rollback=not no_rollback, dry_run=dry_run)
    apply = Apply(Target(place), replan_of(place, with_installation(prepared), asked, on_progress=waiting), wishes, person)
    performed = partial(_performed, apply, place, prepared, person, remember=not profile_name)
    outcome = outcome_of(performed, lambda: apply.began)
    return conclude(person.concluded(outcome, apply), person.tell)


def _performed(apply: "Apply", place: Evidence, prepared: "Prepared", person: Person, *, remember: bool) -> Outcome:
    outcome = apply.perform()
    if outcome.word in ("done", "reboot") and outcome.run and place.is_this_machine:
        person.judge(_checked(place, prepared, remember=remember))
    return outcome


def _checked(place: Evidence, prepared: "Prepared", *, remember: bool) -> str:
    """After a run that changed this machine: the whole of it, as ``hostagent check`` judges it; its verdict on one line."""
    from hostagent.core.smallfile import reason
    from hostagent.engine import pipeline
    from hostagent.engine.report import state
    from hostagent.outputs import render

    with open_host(place) as reading:
        report = pipeline.examine(reading, prepared)
    if remember:
        try:
            state.save(report, prepared.loaded.files, quarantine=prepared.loaded.profile.quarantine)
        except OSError as error:
            complain(f"Warning: no state written to {state.PATH}: {reason(error)}")
    return render(report, "line").rstrip("\n")
