"""``hostagent plan``."""

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_args

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.options import (
    Command,
    color_option,
    colour_wanted,
    completed,
    evidence,
    evidence_options,
    prepared_for,
    profile_option,
    terminal_width,
)
from hostagent.cli.outputs import deliver_all, one_form, output_option, outputs
from hostagent.cli.streams import complain
from hostagent.core.vocabulary import Extra
from hostagent.engine.target import Evidence, open_host
from hostagent.outputs.plan import FORMATS, Format, render_plan
from hostagent.plan.model import Asked, Asking
from hostagent.plan.view import KINDS

if TYPE_CHECKING:
    from hostagent.engine.pipeline import Prepared
    from hostagent.engine.report import Report
    from hostagent.facts.hostfacts import HostFacts
    from hostagent.plan.document import Document
    from hostagent.plan.model import Plan
    from hostagent.profiles.profile import Loaded

REFUSED = 4
#: A plan contains whole files of the host: only its owner may read it.
PRIVATE = 0o600

_EXAMPLES = examples(
    "hostagent plan",
    "hostagent plan --from host.json",
    "hostagent plan --from host.json --only toolkit --format json",
    "hostagent plan --from host.json --with nvswitch,imex --upgrade",
)
_ASKED = (
    click.option(
        "--only",
        multiple=True,
        type=click.Choice(get_args(Asking)),
        help="Only this part; may be given several times. Default: driver, toolkit and runtime.",
    ),
    click.option(
        "--with",
        "extras",
        multiple=True,
        help=f"Parts that an image without GPUs cannot show a need for: {', '.join(get_args(Extra))}, with commas.",
        metavar="NAMES",
        shell_complete=completed("extras"),
    ),
    click.option("--upgrade", is_flag=True, help="Take the newest of driver.install, even where what is installed satisfies the profile."),
    click.option("--in-use", is_flag=True, help="Install beside a driver that is in use; a reboot then loads the new one."),
)


def asked_options(command: Command) -> Command:
    """Adds the options that `plan` and `install` share; the command gets them as keywords for `asked_of`."""
    for option in reversed(_ASKED):
        command = option(command)
    return command


def form_options(form: str, output: str) -> Callable[[Command], Command]:
    """``--format``, ``--json`` and ``-o``, with the help of the first and the last; the first two are for `form_of`."""
    options = (
        click.option("--format", "form", type=click.Choice(FORMATS), show_default="text", help=form),
        click.option("--json", "as_json", is_flag=True, help="Short for --format json."),
        output_option(output),
    )

    def with_options(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options


def form_of(form: Format | None, *, as_json: bool) -> Format:
    """Raises ``click.UsageError`` where the two differ."""
    return one_form({**({f"--format {form}": form} if form else {}), **({"--json": "json"} if as_json else {})}, "text")


def asked_of(only: tuple[Asking, ...], extras: tuple[str, ...], upgrade: bool, in_use: bool) -> Asked:
    """Raises ``click.UsageError``."""
    known: tuple[Extra, ...] = get_args(Extra)
    named = [one.strip() for text in extras for one in text.split(",") if one.strip()]
    if wrong := [one for one in named if one not in known]:
        from hostagent.core.errors import did_you_mean

        raise click.UsageError(f"found --with {wrong[0]!r:.40}, wanted {', '.join(known)}{did_you_mean(wrong[0], known)}")
    parts: tuple[Asking, ...] = get_args(Asking)
    return Asked(
        only=tuple(one for one in parts if one in only), extras=tuple(one for one in known if one in named), upgrade=upgrade, in_use=in_use
    )


@click.command("plan", context_settings=SETTINGS, epilog=_EXAMPLES)
@asked_options
@profile_option("Built-in profile, or a file, - for standard input. Default: the site file's, else 'default'.")
@form_options("Output.", "Write to FILE; - is standard output, the default.")
@color_option
@evidence_options
def command(
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
    """Show what 'hostagent install' would change on this host, in which order, what it costs, and what cannot be undone.

    Nothing is changed. Exit 0: a plan, or nothing to do. 4: install would refuse, and the plan says why. 2: usage, or
    hostagent could not run.
    """
    asked, place = asked_of(only, extras, upgrade, in_use), evidence(**where)
    wanted = outputs(form_of(form, as_json=as_json), output, (), FORMATS)
    found = planned_document(place, profile_name, asked)[1]
    width = terminal_width()

    def rendered(kind: Format, path: str) -> str:
        return render_plan(found, kind, colour=colour_wanted(path, colour), width=width)

    deliver_all(wanted, rendered, math.inf, PRIVATE)
    return REFUSED if found.refusals else 0


def planned_document(place: Evidence, profile_name: str, asked: Asked) -> "tuple[Plan, Document]":
    """One pass over the host, and its plan. The package manager is asked once nothing of the pass is left."""
    from hostagent.engine import pipeline

    prepared = with_installation(prepared_for(place, profile_name))
    with open_host(place, prepared.kinds) as reading:
        collected = reading.collect(pipeline.policy_of(prepared))
        report = pipeline.judge(collected, reading, prepared)
    return documented(collected.facts, report, prepared.loaded, asked, place)


def documented(facts: "HostFacts", report: "Report", loaded: "Loaded", asked: Asked, place: Evidence) -> "tuple[Plan, Document]":
    """The plan of what was read at `place`."""
    from hostagent.install.planning import plan_of
    from hostagent.plan.document import document

    plan = plan_of(facts, loaded, asked, place, waiting)
    return plan, document(plan, report)


def waiting(text: str) -> None:
    """Prints what the run is waiting for, to a terminal."""
    if sys.stderr.isatty():
        complain(text)


def with_installation(prepared: "Prepared") -> "Prepared":
    """Adds the facts that a plan needs, and drops checks that report only advisories."""
    from hostagent.engine.collect import HEAD

    checks = tuple(one for one in prepared.checks if one.axis == "security")
    needed = (kind.__name__ for one in checks for kind in one.inputs.kinds)
    return prepared._replace(checks=checks, kinds=tuple(dict.fromkeys((*HEAD, *needed, *KINDS))), partial=True)
