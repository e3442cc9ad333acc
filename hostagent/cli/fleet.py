"""``hostagent fleet``."""

import math
import time

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.options import color_option, colour_wanted, terminal_width
from hostagent.cli.outputs import deliver_all, one_form, output_option, outputs
from hostagent.gate.backends.files import Documents
from hostagent.gate.fleet import fleet
from hostagent.gate.fleet_text import FORMATS, Format, render_fleet

_EXAMPLES = examples(
    "hostagent fleet reports/",
    "hostagent fleet reports/ --format html -o fleet.html",
    "hostagent fleet reports/*.json --json",
)


@click.command("fleet", context_settings=SETTINGS, epilog=_EXAMPLES)
@click.argument("reports", nargs=-1, required=True, type=click.Path(), metavar="REPORTS...")
@click.option("--format", "form", type=click.Choice(FORMATS), show_default="text", help="Output.")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@output_option()
@color_option
def command(reports: tuple[str, ...], form: Format | None, as_json: bool, output: str, colour: str) -> int:
    """Summarize many hosts: how many may take jobs, why the others may not, and how outliers differ.

    REPORTS are directories of summaries or reports (*.json), or files. Of several of a node the newest counts. Exit 0, whatever the
    verdicts. 2: usage, or a directory that cannot be listed.
    """
    named: dict[str, Format] = {**({f"--format {form}": form} if form else {}), **({"--json": "json"} if as_json else {})}
    wanted = outputs(one_form(named, "text"), output, (), FORMATS)
    documents = Documents(reports)
    found = fleet((summary for _, summary in documents), time.time(), documents.warnings)
    width = terminal_width()
    deliver_all(wanted, lambda kind, path: render_fleet(found, kind, colour=colour_wanted(path, colour), width=width), math.inf)
    return 0
