"""``hostagent check``."""

import os
import time
from typing import TYPE_CHECKING, Any, Literal

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.options import (
    STANDARD,
    color_option,
    colour_wanted,
    completed,
    desired,
    evidence,
    evidence_options,
    profile_option,
    terminal_width,
    warn,
    write,
)
from hostagent.cli.streams import complain
from hostagent.deadline import time_limit
from hostagent.errors import OutOfTime, did_you_mean
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


_EXAMPLES = examples(
    "hostagent check",
    "hostagent check -q || echo 'keep jobs away from this host'",
    "hostagent check --profile tao-7.1 --fail-on degraded",
    "hostagent check --only gpu,driver.library_match -v",
    "hostagent check --root image --format junit -o report.xml --also text=-",
    "hostagent check --from host.json --json",
    "cat host.json | hostagent check --from -",
)


@click.command("check", context_settings=SETTINGS, epilog=_EXAMPLES)
@profile_option("Built-in profile, or a file, - for standard input. Default: the site file's, else 'default'.")
@click.option("--scope", type=click.Choice(list(_SCOPES)), default="single", show_default=True, help="The verdict that sets the exit code.")
@click.option("--format", "form", type=click.Choice(FORMATS), show_default="text", help="Output.")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("-q", "--quiet", is_flag=True, help="Short for --format line: verdict, headline and first step on one line.")
@click.option(
    "--also",
    multiple=True,
    help="Write another format to a file, too (- for standard output); may be given several times.",
    metavar="FORMAT=FILE",
    shell_complete=completed("formats_and_files"),
)
@click.option("-o", "--output", default="", type=click.Path(), help="Write to FILE; - is standard output, the default.", metavar="FILE")
@click.option(
    "--only",
    multiple=True,
    help="Only these checks or families, with commas. Writes no state.",
    metavar="ID",
    shell_complete=completed("checks_and_families"),
)
@click.option(
    "--skip",
    multiple=True,
    help="All but these checks or families, with commas. Writes no state.",
    metavar="ID",
    shell_complete=completed("checks_and_families"),
)
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
    form: Format | None,
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
    place, outputs = evidence(**where), _outputs(_form(form, as_json=as_json, quiet=quiet), output, also)
    only, skip = _names("--only", only), _names("--skip", skip)
    ends = time.monotonic() + place.deadline_s
    may_save = place.is_this_machine and not only and not skip and os.geteuid() == 0 and profile_name != STANDARD
    if save_state and not may_save:
        raise click.UsageError("found --save-state, which needs a run of all checks of this machine, as root, by a profile in a file")
    if place.snapshot == profile_name == STANDARD:
        raise click.UsageError("found --from - and --profile -, wanted at most one of them from standard input")
    report, loaded = _checked(place, profile_name, only, skip)
    if may_save and (save_state or not profile_name):
        _remember(report, loaded.files)
    if verbose:
        _tell_crashes(report)
    asked = Asked(_SCOPES[scope], fail_on)
    told: dict[str, Any] = {"width": terminal_width(), "verbose": verbose, "asked": asked, "now": time.time()}
    for kind, path in outputs:
        text = rendered(report, kind, colour=colour_wanted(path, colour), **told)
        write(text, path, ends=max(ends, time.monotonic() + DELIVERING_S))
    return 0 if asked.succeeds(report) else 1


def _form(form: Format | None, *, as_json: bool, quiet: bool) -> Format:
    """The one format that was asked for; ``--format json --json`` is no mistake."""
    named: dict[str, Format] = {
        **({f"--format {form}": form} if form else {}),
        **({"--json": "json"} if as_json else {}),
        **({"--quiet": "line"} if quiet else {}),
    }
    if len(set(named.values())) > 1:
        raise click.UsageError(f"found {' and '.join(named)}, wanted one of them; --also FORMAT=FILE writes a second format")
    return next(iter(named.values()), "text")


def _outputs(form: Format, output: str, also: tuple[str, ...]) -> list[tuple[Format, str]]:
    """Each format with its file, "" for standard output: what nobody else reads comes first, for a reader of that may end the run."""
    found = [(form, output), *map(_other, also)]
    paths = [os.path.abspath(path) for _, path in found if path not in ("", STANDARD)]
    twice = next((path for path in paths if paths.count(path) > 1 and not path.startswith("/dev/")), "")
    if twice:
        raise click.UsageError(f"found two formats for {twice}, wanted one per file")
    return sorted(((kind, "" if path == STANDARD else path) for kind, path in found), key=lambda one: not one[1])


def _names(option: str, given: tuple[str, ...]) -> tuple[str, ...]:
    found = tuple(name.strip() for text in given for name in text.split(",") if name.strip())
    if given and not found:  # of a variable that is not set: never all checks instead
        raise click.UsageError(f"found {option} {given[0]!r}, wanted checks or families")
    return found


def _other(text: str) -> tuple[Format, str]:
    form, _, path = text.partition("=")
    if form not in FORMATS or not path:
        hint = did_you_mean(form, FORMATS) if form not in FORMATS else ""
        raise click.UsageError(f"found --also {text!r}, wanted FORMAT=FILE with one of the formats {', '.join(FORMATS)}{hint}")
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
    prepared = app.prepare(desired(profile_name, site_file="" if place.snapshot or place.root else profile.SITE_FILE), only, skip)
    warn(prepared.loaded.warnings)
    if (only or skip) and not prepared.checks:
        raise click.UsageError("found --only and --skip that leave no check, wanted at least one")
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
