"""``hostagent check``."""

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from hostagent import state
from hostagent.cli.options import colour_wanted, evidence, evidence_options, terminal_width, warn, write
from hostagent.evidence import Evidence, open_host
from hostagent.report import PLACEABLE, Report
from hostagent.sinks import FORMATS, Format, render

if TYPE_CHECKING:
    from hostagent.source.live import LiveBackend
    from hostagent.source.tape import ReplayBackend

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
@click.option("-v", "--verbose", is_flag=True, help="Text: also list what passed and what did not apply.")
@evidence_options
def command(profile_name: str, scope: str, form: Format, output: str, only: tuple[str, ...], verbose: bool, **where: Any) -> None:
    """Judge a host: is it ready for GPU jobs, and if not, why.

    Exit 0: ready or degraded. 1: not ready, or not enough could be read. 2: usage, or hostagent could not run.
    """
    place = evidence(**where)
    reading = open_host(place)  # its worker reads the driver while everything else is still imported
    try:
        report, profile_files = _examined(reading, place, profile_name, only)
    finally:
        reading.close()
    if report.evidence == "live" and not report.replayed and not report.partial and os.geteuid() == 0:
        _remember(report, profile_files)
    width = terminal_width()
    write(render(report, form, colour=colour_wanted(output), width=width, verbose=verbose), output)
    sys.exit(0 if getattr(report.verdict, _SCOPES[scope]) in PLACEABLE else 1)


def _examined(
    reading: "LiveBackend | ReplayBackend", place: Evidence, profile_name: str, only: tuple[str, ...]
) -> tuple[Report, ProfileFiles]:
    from hostagent import app, profile

    # The site file is this machine's policy: a recorded host gives the same report on every laptop without it.
    loaded = profile.load(profile_name, site_file="" if place.snapshot or place.root else profile.SITE_FILE)
    if loaded.profile.nvml == "optional":
        reading.make_nvml_optional()
    return app.examine(reading, loaded, only, replayed=bool(place.snapshot), warn=warn), loaded.files


def _remember(report: Report, profile_files: ProfileFiles) -> None:
    try:
        state.save(report, profile_files)
    except OSError as error:
        click.echo(f"Warning: no state written to {state.PATH}: {(error.strerror or str(error)).lower()}", err=True)
