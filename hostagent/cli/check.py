"""``hostagent check``."""

import os
import time
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from hostagent.cli import SETTINGS, examples
from hostagent.cli.exitcodes import exit_codes_option
from hostagent.cli.options import (
    STANDARD,
    color_option,
    colour_wanted,
    completed,
    env_file_option,
    evidence,
    evidence_options,
    one_standard_input,
    prepared_for,
    profile_option,
    terminal_width,
    with_environment,
)
from hostagent.cli.outputs import deliver_all, one_form, output_options, outputs, within_time
from hostagent.cli.streams import complain
from hostagent.core.deadline import COMPUTING_S
from hostagent.core.smallfile import reason
from hostagent.engine.collection import Reading
from hostagent.engine.report import Report, shortened, state
from hostagent.engine.report.exit_code import NAGIOS_CODES, Asked
from hostagent.engine.target import Evidence, open_host
from hostagent.outputs import FORMATS, Format, render

if TYPE_CHECKING:
    from hostagent.engine.pipeline import Prepared
    from hostagent.profiles.profile import Loaded

_SCOPES: dict[str, Literal["single_node", "multi_node"]] = {"single": "single_node", "multi": "multi_node"}


_EXAMPLES = examples(
    "hostagent check",
    "hostagent check -q || echo 'keep jobs away from this host'",
    "hostagent check --profile tao-7.1 --fail-on degraded",
    "hostagent check --exit-codes nagios",
    "hostagent check --only gpu,driver.library_match -v",
    "hostagent check --root image --format junit -o report.xml --also text=-",
    "hostagent check --from host.json --json",
    "cat host.json | hostagent check --from -",
    "env -0 | hostagent check --env-file - --scope multi",
)


@click.command("check", context_settings=SETTINGS, epilog=_EXAMPLES)
@profile_option("Built-in profile, or a file, - for standard input. Default: the site file's, else 'default'.")
@click.option("--scope", type=click.Choice(list(_SCOPES)), default="single", show_default=True, help="The verdict that sets the exit code.")
@click.option("--format", "form", type=click.Choice(FORMATS), show_default="text", help="Output.")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("-q", "--quiet", is_flag=True, help="Short for --format line: verdict, headline and first step on one line.")
@output_options
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
    help="Mildest verdict that exits 1 (unknown always does).",
)
@exit_codes_option
@click.option("--save-state", is_flag=True, help="Write the verdict to the state file with --profile, too.")
@click.option("-v", "--verbose", is_flag=True, help="Text: also list what passed and what did not apply.")
@color_option
@env_file_option
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
    exit_codes: Literal["hostagent", "nagios"],
    save_state: bool,
    verbose: bool,
    colour: str,
    env_file: str | None,
    **where: Any,
) -> int:
    """Check a host: is it ready for GPU jobs, and if not, why.

    Exit 0: ready or degraded (--fail-on degraded: ready alone). 1: not ready, or not enough could be read. 2: usage, or hostagent
    could not run. Other codes: see --exit-codes.
    """
    is_nagios = exit_codes == "nagios"
    if is_nagios and click.get_current_context().get_parameter_source("fail_on") is ParameterSource.COMMANDLINE:
        raise click.UsageError("found --fail-on and --exit-codes nagios, wanted one of them: there each verdict has its own code")
    chosen = form_of(form, as_json=as_json, quiet=quiet, default="line" if is_nagios else "text")
    place, wanted = evidence(**where), outputs(chosen, output, also, FORMATS)
    one_standard_input({"--from": place.snapshot, "--profile": profile_name, "--env-file": env_file})
    place = with_environment(place, env_file)
    only, skip = _names("--only", only), _names("--skip", skip)
    ends = time.monotonic() + place.deadline_s
    is_whole = place.is_this_machine and place.environment is None and not only and not skip
    may_save = is_whole and os.geteuid() == 0 and profile_name != STANDARD
    if save_state and not may_save:
        raise click.UsageError("found --save-state, which needs all checks of this machine, as root, by a profile file, no --env-file")
    report, loaded = checked(place, profile_name, only, skip)
    if may_save and (save_state or not profile_name):
        _remember(report, loaded)
    if verbose:
        _tell_crashes(report)
    asked = Asked(_SCOPES[scope], fail_on)
    look: dict[str, Any] = {"width": terminal_width(), "verbose": verbose, "asked": asked, "now": time.time()}

    def written(kind: Format, path: str) -> str:
        if not is_nagios or kind != "line":
            return rendered(report, kind, colour=colour_wanted(path, colour), **look)
        from hostagent.outputs.line import for_nagios, render_line

        line = within_time(lambda: render_line(report, asked.scope), lambda: render_line(shortened(report), asked.scope))
        return for_nagios(line)

    deliver_all(wanted, written, ends)
    return NAGIOS_CODES[getattr(report.verdict, asked.scope)] if is_nagios else 0 if asked.succeeds(report) else 1


def form_of(form: Format | None, *, as_json: bool, quiet: bool = False, default: Format = "text") -> Format:
    """The one format that was asked for; ``--format json --json`` is no mistake."""
    named: dict[str, Format] = {
        **({f"--format {form}": form} if form else {}),
        **({"--json": "json"} if as_json else {}),
        **({"--quiet": "line"} if quiet else {}),
    }
    return one_form(named, default)


def _names(option: str, given: tuple[str, ...]) -> tuple[str, ...]:
    found = tuple(name.strip() for text in given for name in text.split(",") if name.strip())
    if given and not found:  # of a variable that is not set: never all checks instead
        raise click.UsageError(f"found {option} {given[0]!r}, wanted checks or families")
    return found


def checked(place: Evidence, profile_name: str, only: tuple[str, ...] = (), skip: tuple[str, ...] = ()) -> "tuple[Report, Loaded]":
    """A whole run starts to read at once, while modules are imported and the profile is read. A run of a few checks first finds out which
    facts they need.
    """
    if only or skip:
        prepared = prepared_for(place, profile_name, only, skip)
        with open_host(place, prepared.kinds) as reading:
            return _examined(reading, prepared, place)
    with open_host(place) as reading:
        return _examined(reading, prepared_for(place, profile_name), place)


def _examined(reading: Reading, prepared: "Prepared", place: Evidence) -> "tuple[Report, Loaded]":
    from hostagent.engine import pipeline

    # A pod has the name of its node in its environment; a recorded host and an image are no nodes of this cluster.
    node_name = "" if place.snapshot or place.root else os.environ.get("NODE_NAME", "")
    return pipeline.examine(reading, prepared, node_name), prepared.loaded


def rendered(report: Report, form: Format, within_s: float = COMPUTING_S, **options: Any) -> str:
    """Shortens a report that takes too long to write, so that its verdict is printed in any case."""
    return within_time(lambda: render(report, form, **options), lambda: render(shortened(report), form, **options), within_s)


def _tell_crashes(report: Report) -> None:
    from hostagent.outputs.tracebacks import tracebacks

    for text in tracebacks(report):
        complain(*text.split("\n"))


def _remember(report: Report, loaded: "Loaded") -> None:
    try:
        state.save(report, loaded.files, quarantine=loaded.profile.quarantine)
    except OSError as error:
        complain(f"Warning: no state written to {state.PATH}: {reason(error)}")
