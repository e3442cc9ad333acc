"""``hostagent check``."""

import os
import time
from typing import TYPE_CHECKING, Any

import click

from hostagent.cli.options import colour_wanted, evidence, evidence_options, terminal_width, warn, write
from hostagent.cli.streams import complain
from hostagent.deadline import time_limit
from hostagent.errors import OutOfTime
from hostagent.evidence import Evidence, open_host
from hostagent.reading import Reading
from hostagent.report import PLACEABLE, Report, shortened, state
from hostagent.sinks import FORMATS, Format, render
from hostagent.smallfile import reason

if TYPE_CHECKING:
    from hostagent.app import Prepared
    from hostagent.profile import Loaded

#: Seconds for writing the report, beside `hostagent.app.JUDGING_S` for judging: a run ends at most 3 s after its deadline.
RENDERING_S = 0.8
#: Seconds that a pipe or device gets at least to take the report.
DELIVERING_S = 0.4
ProfileFiles = tuple[tuple[str, str], ...]
_SCOPES = {"single": "single_node", "multi": "multi_node"}


@click.command("check", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--profile", "profile_name", default="", help="Built-in profile, or a file. Default: the site file's, else 'default'.", metavar="P"
)
@click.option("--scope", type=click.Choice(list(_SCOPES)), default="single", show_default=True, help="The verdict that sets the exit code.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Output.",
)
@click.option("-o", "--output", default="", help="Write to FILE instead of standard output.", metavar="FILE")
@click.option("--only", multiple=True, help="Only this check or family; may be given several times. Writes no state.", metavar="ID")
@click.option("--save-state", is_flag=True, help="Write the verdict to the state file with --profile, too.")
@click.option("-v", "--verbose", is_flag=True, help="Text: also list what passed and what did not apply.")
@evidence_options
def command(
    profile_name: str, scope: str, form: Format, output: str, only: tuple[str, ...], save_state: bool, verbose: bool, **where: Any
) -> int:
    """Judge a host: is it ready for GPU jobs, and if not, why.

    Exit 0: ready or degraded. 1: not ready, or not enough could be read. 2: usage, or hostagent could not run.
    """
    place = evidence(**where)
    ends = time.monotonic() + place.deadline_s
    may_save = place.is_this_machine and not only and os.geteuid() == 0
    if save_state and not may_save:
        raise click.UsageError("found --save-state, which needs a run of all checks of this machine, as root")
    report, loaded = _checked(place, profile_name, only)
    if may_save and (save_state or not profile_name):
        _remember(report, loaded.files)
    if verbose:
        _tell_crashes(report)
    text = rendered(report, form, colour=colour_wanted(output), width=terminal_width(), verbose=verbose)
    write(text, output, ends=max(ends, time.monotonic() + DELIVERING_S))
    return 0 if getattr(report.verdict, _SCOPES[scope]) in PLACEABLE else 1


def _checked(place: Evidence, profile_name: str, only: tuple[str, ...]) -> "tuple[Report, Loaded]":
    """A whole run reads from the start on, while the rest is imported and the profile is read. One of a few checks looks first
    what they need.
    """
    if only:
        prepared = _prepared(place, profile_name, only)
        with open_host(place, prepared.kinds) as reading:
            return _examined(reading, prepared)
    with open_host(place) as reading:
        return _examined(reading, _prepared(place, profile_name, only))


def _prepared(place: Evidence, profile_name: str, only: tuple[str, ...]) -> "Prepared":
    from hostagent import app, profile

    # The site file is this machine's policy: a recorded host gives the same report on every laptop without it.
    prepared = app.prepare(profile.load(profile_name, site_file="" if place.snapshot or place.root else profile.SITE_FILE), only)
    warn(prepared.loaded.warnings)
    return prepared


def _examined(reading: Reading, prepared: "Prepared") -> "tuple[Report, Loaded]":
    from hostagent import app

    return app.examine(reading, prepared), prepared.loaded


def rendered(report: Report, form: Format, within_s: float = RENDERING_S, **options: Any) -> str:
    """A report that takes too long to write is shortened: its verdict has to come out."""
    try:
        with time_limit(within_s):
            return render(report, form, **options)
    except OutOfTime:
        complain(f"Warning: the report was not written in {within_s:g} s and is shortened.")
        return render(shortened(report), form, **options)


def _tell_crashes(report: Report) -> None:
    from hostagent.sinks.tracebacks import tracebacks

    for text in tracebacks(report):
        complain(*text.split("\n"))


def _remember(report: Report, profile_files: ProfileFiles) -> None:
    try:
        state.save(report, profile_files)
    except OSError as error:
        complain(f"Warning: no state written to {state.PATH}: {reason(error)}")
