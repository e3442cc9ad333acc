"""``hostagent check``."""

import os
import time
from typing import TYPE_CHECKING, Any, Literal

import click

from hostagent.cli.options import color_option, colour_wanted, evidence, evidence_options, terminal_width, warn, write
from hostagent.cli.streams import complain
from hostagent.deadline import time_limit
from hostagent.errors import OutOfTime
from hostagent.evidence import Evidence, open_host
from hostagent.reading import Reading
from hostagent.report import Report, shortened, state
from hostagent.report.exitcode import Asked
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
_SCOPES: dict[str, Literal["single_node", "multi_node"]] = {"single": "single_node", "multi": "multi_node"}


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
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("-q", "--quiet", is_flag=True, help="Short for --format line: verdict, headline and first step on one line.")
@click.option("--also", multiple=True, help="Write another format to a file, too; may be given several times.", metavar="FORMAT=FILE")
@click.option("-o", "--output", default="", help="Write to FILE instead of standard output.", metavar="FILE")
@click.option("--only", multiple=True, help="Only these checks or families, with commas. Writes no state.", metavar="ID")
@click.option("--skip", multiple=True, help="All but these checks or families, with commas. Writes no state.", metavar="ID")
@click.option(
    "--fail-on",
    type=click.Choice(["not-ready", "degraded"]),
    default="not-ready",
    show_default=True,
    help="From which verdict on the exit code is 1; unknown always is.",
)
@click.option("--save-state", is_flag=True, help="Write the verdict to the state file with --profile, too.")
@click.option("-v", "--verbose", is_flag=True, help="Text: also list what passed and what did not apply.")
@color_option
@evidence_options
def command(
    profile_name: str,
    scope: str,
    form: Format,
    as_json: bool,
    quiet: bool,
    also: tuple[str, ...],
    output: str,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    fail_on: Literal["not-ready", "degraded"],
    save_state: bool,
    verbose: bool,
    colour: str,
    **where: Any,
) -> int:
    """Judge a host: is it ready for GPU jobs, and if not, why.

    Exit 0: ready or degraded (--fail-on degraded: ready alone). 1: not ready, or not enough could be read. 2: usage, or hostagent
    could not run.
    """
    place, form, others = evidence(**where), _form(form, as_json=as_json, quiet=quiet), tuple(map(_other, also))
    only, skip = _names(only), _names(skip)
    ends = time.monotonic() + place.deadline_s
    may_save = place.is_this_machine and not only and not skip and os.geteuid() == 0
    if save_state and not may_save:
        raise click.UsageError("found --save-state, which needs a run of all checks of this machine, as root")
    report, loaded = _checked(place, profile_name, only, skip)
    if may_save and (save_state or not profile_name):
        _remember(report, loaded.files)
    if verbose:
        _tell_crashes(report)
    asked = Asked(_SCOPES[scope], fail_on)
    told: dict[str, Any] = {"width": terminal_width(), "verbose": verbose, "asked": asked, "now": time.time()}
    text = rendered(report, form, colour=colour_wanted(output, colour), **told)
    write(text, output, ends=max(ends, time.monotonic() + DELIVERING_S))
    for other, path in others:
        write(rendered(report, other, **told), path, ends=max(ends, time.monotonic() + DELIVERING_S))
    return 0 if asked.succeeds(report) else 1


def _form(form: Format, *, as_json: bool, quiet: bool) -> Format:
    if as_json and quiet:
        raise click.UsageError("found --json and --quiet, wanted one of them")
    return "json" if as_json else "line" if quiet else form


def _names(given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())


def _other(text: str) -> tuple[Format, str]:
    form, _, path = text.partition("=")
    if form not in FORMATS or not path:
        raise click.UsageError(f"found --also {text!r}, wanted FORMAT=FILE with one of the formats {', '.join(FORMATS)}")
    return form, path


def _checked(place: Evidence, profile_name: str, only: tuple[str, ...], skip: tuple[str, ...]) -> "tuple[Report, Loaded]":
    """A whole run reads from the start on, while the rest is imported and the profile is read. One of a few checks looks first
    what they need.
    """
    if only or skip:
        prepared = _prepared(place, profile_name, only, skip)
        with open_host(place, prepared.kinds) as reading:
            return _examined(reading, prepared)
    with open_host(place) as reading:
        return _examined(reading, _prepared(place, profile_name))


def _prepared(place: Evidence, profile_name: str, only: tuple[str, ...] = (), skip: tuple[str, ...] = ()) -> "Prepared":
    from hostagent import app, profile

    # The site file is this machine's policy: a recorded host gives the same report on every laptop without it.
    prepared = app.prepare(profile.load(profile_name, site_file="" if place.snapshot or place.root else profile.SITE_FILE), only, skip)
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
