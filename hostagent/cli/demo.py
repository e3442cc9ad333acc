"""``hostagent demo``: recorded hosts that come with hostagent, so that a first look needs no GPU."""

import math
import os
import shlex
import sys
import time
from typing import Any

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.check import checked, form_of, rendered
from hostagent.cli.options import color_option, colour_wanted, json_option, terminal_width
from hostagent.cli.outputs import deliver_all, output_options, outputs
from hostagent.cli.streams import complain, say
from hostagent.core.errors import HostagentError, did_you_mean
from hostagent.core.smallfile import is_absent
from hostagent.engine.report import Report
from hostagent.engine.target import Evidence
from hostagent.outputs import FORMATS, Format

#: By name: its directory below tests/hosts of a checkout, and what it shows. The first one is shown where none is named.
HOSTS = {
    "gpu-off-the-bus": ("hgx-h100-gpu-off-the-bus", "eight H100, of which one has fallen off the PCIe bus"),
    "driver-upgraded": ("hgx-h100-userland-upgraded", "eight H100 whose driver was upgraded while its old module is still loaded"),
    "healthy": ("hgx-h100-ubuntu2404", "eight H100, everything as it should be"),
}
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _names(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in HOSTS if name.startswith(incomplete)]


@click.command(
    "demo",
    context_settings=SETTINGS,
    epilog=examples("hostagent demo", "hostagent demo driver-upgraded", "hostagent demo gpu-off-the-bus --format html -o report.html"),
)
@click.argument("name", default=next(iter(HOSTS)), metavar="[NAME]", shell_complete=_names)
@click.option("--format", "form", type=click.Choice(FORMATS), show_default="text", help="Output.")
@json_option
@output_options
@click.option("-v", "--verbose", is_flag=True, help="Text: also list what passed and what did not apply.")
@color_option
def command(name: str, form: Format | None, as_json: bool, also: tuple[str, ...], output: str, verbose: bool, colour: str) -> int:
    """Check a recorded host that comes with hostagent: made up, and not this machine.

    NAME is gpu-off-the-bus, driver-upgraded or healthy. The report is that of 'hostagent check' with the profile 'default'. Exit 0,
    whatever the verdict. 2: usage, or hostagent could not run.
    """
    if name not in HOSTS:
        raise click.UsageError(f"found no recorded host {name!r:.60}, wanted one of {', '.join(HOSTS)}{did_you_mean(name, HOSTS)}")
    wanted = outputs(form_of(form, as_json=as_json), output, also, FORMATS)
    report = _judged(recording(name))
    look: dict[str, Any] = {"width": terminal_width(), "verbose": verbose, "now": time.time()}
    introduced = f"A recorded, made-up host, not this machine: {HOSTS[name][1]}."
    # A document for a program has nothing around it.
    is_text_here = [kind for kind, path in wanted if not path] == ["text"]

    def written(kind: Format, path: str) -> str:
        text = rendered(report, kind, colour=colour_wanted(path, colour), **look)
        return f"{introduced}\n\n{text}" if is_text_here and not path else text

    deliver_all(wanted, written, math.inf)
    called = _called()
    others = " or ".join(f"'{called} demo {one}'" for one in HOSTS if one != name)
    last = ("", f"This machine: '{called} check'", f"Other recorded hosts: {others}")
    if is_text_here:
        say(*last)
    else:
        complain(introduced, *last)
    return 0


def _judged(path: str) -> Report:
    """Raises ``HostagentError`` that says what helps a damaged copy of hostagent, and not how to record a host."""
    try:
        return checked(Evidence(snapshot=path), "")[0]
    except HostagentError as error:
        from hostagent.core.installation import damaged_step

        raise HostagentError(error.message, damaged_step(), error.details) from error


def _called() -> str:
    """The command that started hostagent, quoted for a shell; the bare name where PATH finds it."""
    folder, name = os.path.split(sys.argv[0])
    if not name or name.startswith("-") or name.endswith(".py"):  # a module, and how a package starts one
        return "hostagent"
    is_found = folder and folder in os.environ.get("PATH", "").split(os.pathsep)
    return shlex.quote(name if is_found else os.path.join(folder or ".", name))


def recording(name: str) -> str:
    """Its snapshot: in an installed hostagent below this package, in a checkout that of the tests. Raises ``HostagentError``."""
    places = (
        os.path.join(_PACKAGE, "_demo", f"{name}.json"),
        os.path.join(os.path.dirname(_PACKAGE), "tests", "hosts", HOSTS[name][0], "tape.json"),
    )
    found = next((place for place in places if not is_absent(place)), "")
    if not found:
        from hostagent.core.installation import damaged_step

        raise HostagentError(f"found no recorded host at {places[0]}", damaged_step())
    return found
