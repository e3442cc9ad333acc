"""``hostagent status``: reads one file, imports no collector."""

import json
import time
from collections.abc import Iterator, Mapping

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.streams import put, say
from hostagent.report import state
from hostagent.report.times import ago

_SCOPES = {"single": "single_node", "multi": "multi_node"}


@click.command(
    "status",
    context_settings=SETTINGS,
    epilog=examples("hostagent status", "hostagent status --scope multi --json || echo 'not placeable'"),
)
@click.option("--scope", type=click.Choice(list(_SCOPES)), default="single", show_default=True, help="The verdict that sets the exit code.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output.")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--state-file", default=state.PATH, show_default=True, help="Where the verdict is kept.", metavar="FILE")
def command(scope: str, form: str, as_json: bool, state_file: str) -> int:
    """Print the last verdict of this host, without a new run.

    Exit 0: ready or degraded, fresh, of this boot. 1: anything else, a missing or damaged file too. A profile file that
    changed since is named; the verdict stands until it expires.
    """
    now = time.time()
    found = state.read(state_file, now)
    placeable = found.placeable(_SCOPES[scope])
    changes = found.profile_changes()
    if as_json or form == "json":
        added = {"problem": found.problem, "placeable": placeable, "profile_changed": changes}
        put(json.dumps({**found.data, **added}, indent=1) + "\n")
    else:
        say(*_lines(found, now, changes))
    return 0 if placeable else 1


def _lines(found: state.State, now: float, changes: Mapping[str, str] | None) -> list[str]:
    if not found.data:
        return [f"UNKNOWN: {found.problem}", "Run 'hostagent check' as root to judge this host."]
    data, verdict = found.data, found.data["verdict"]
    single, multi = _words(verdict["single_node"]), _words(verdict["multi_node"])
    told = f"{data.get('headline', '')}. {' '.join(data.get('todo', ())[:2])}".strip(". ")
    lines = [f"STALE  {found.problem}: run 'hostagent check' again"] if found.problem else []
    lines.append(f"{single.upper()}  {told}".rstrip() + (f" (multi-node: {multi})" if single != multi else ""))
    observed, expiry = now - data["observed_at"], data["valid_until"] - now
    lines.append(f"  checked {ago(observed)} ago by profile {data['profile']['name']}, valid for another {ago(max(0, expiry))}")
    lines += _profile_lines(changes)
    if data["reasons"]:
        count = len({one["id"] for one in data["reasons"]})
        lines.append(f"  {count} check{'' if count == 1 else 's'} did not pass: 'hostagent check' tells them, --format json lists them")
    return lines


def _profile_lines(changes: Mapping[str, str] | None) -> Iterator[str]:
    if changes is None:
        yield "  does not say which profile files it was judged by: run 'hostagent check' again"
        return
    for path, change in changes.items():
        if change.startswith("unreadable"):
            yield f"  profile file {path} is {change}, so whether it changed since is not known"
        else:
            yield f"  profile file {path} has {change} since: run 'hostagent check' again"


def _words(verdict: str) -> str:
    return verdict.replace("_", " ")
