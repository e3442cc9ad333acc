"""``hostagent npd``: one condition, as a custom plugin of node-problem-detector. Reads one file, imports no collector."""

import os
import sys
import time

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.streams import put
from hostagent.core.escape import visible
from hostagent.engine.report import state

#: As node-problem-detector takes it (max_output_length of a custom plugin).
_BYTES = 80
_TYPES = {
    "ready": "Ready",
    "multi-node-ready": "MultiNodeReady",
    "driver": "DriverReady",
    "toolkit": "ToolkitReady",
    "topology": "TopologyReady",
    "fabric": "FabricReady",
}
_CODES = {"True": 0, "False": 1, "Unknown": 2}
_UNKNOWN = 2
#: What applies to every host.
_ALWAYS = ("Ready", "MultiNodeReady")


@click.command("npd", context_settings=SETTINGS, epilog=examples("hostagent npd ready", "hostagent npd fabric --state-dir /run/hostagent"))
@click.argument("name", type=click.Choice(list(_TYPES)), metavar="CONDITION")
@click.option("--state-dir", default=os.path.dirname(state.PATH), show_default=True, type=click.Path(), help="The daemon's.", metavar="DIR")
def command(name: str, state_dir: str) -> int:
    """Report one condition to node-problem-detector, as a custom plugin: the daemon's last result.

    CONDITION is ready, multi-node-ready, driver, toolkit, topology or fabric. One line of at most 80 bytes. Exit 0: it is healthy, or does
    not apply. 1: it is not. 2: unknown, or the daemon's state is old or missing.
    """
    file = os.path.basename(state.PATH)
    path = os.path.join(state_dir, file)
    code, text = _condition(state.read(path, time.time()), _TYPES[name])
    put(f"{_cut(text.replace(path, file), sys.stdout.encoding or 'utf-8')}\n")
    return code


def _condition(found: state.State, kind: str) -> tuple[int, str]:
    if found.problem:
        return _UNKNOWN, found.problem
    listed = found.data.get("conditions")
    if not isinstance(listed, list):
        return _UNKNOWN, "no daemon wrote the state"
    one = next((row for row in listed if row["type"] == kind), None)
    if one is None and kind in _ALWAYS:
        return _UNKNOWN, f"the state says nothing of {kind}"
    if one is None:
        return 0, "does not apply to this host"
    return _CODES.get(one["status"], _UNKNOWN), f"{one['reason']}: {one['message']}"


def _cut(text: str, encoding: str) -> str:
    """One line, at most so many bytes as standard output writes them, whole characters."""
    shown = visible(text)

    def size(part: str) -> int:
        return len(part.encode(encoding, "backslashreplace"))

    if size(shown) < _BYTES:
        return shown
    kept = shown[: _BYTES - 4]
    while size(kept) > _BYTES - 4:
        kept = kept[:-1]
    return f"{kept}..."
