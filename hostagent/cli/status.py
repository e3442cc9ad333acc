"""``hostagent status``: reads one file, imports no collector."""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.exitcodes import exit_codes_option
from hostagent.cli.streams import put, say
from hostagent.engine.report import state
from hostagent.engine.report.exit_code import NAGIOS_CODES
from hostagent.engine.report.host_coverage import gap_in_words
from hostagent.engine.report.times import ago, moment

_SCOPES = {"single": "single_node", "multi": "multi_node"}
_FORMATS = ("text", "json", "line")
_WHOLE = ("Ready", "MultiNodeReady")
_WAITS = "that is told once the next pass finds it, too"
_FLAPS = "it changes again and again, so that its worst is told for an hour"


@click.command(
    "status",
    context_settings=SETTINGS,
    epilog=examples(
        "hostagent status", "hostagent status --scope multi --json || echo 'not placeable'", "hostagent status --exit-codes nagios"
    ),
)
@click.option("--scope", type=click.Choice(list(_SCOPES)), default="single", show_default=True, help="The verdict that sets the exit code.")
@click.option("--format", "form", type=click.Choice(_FORMATS), show_default="text", help="Output.")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@exit_codes_option
@click.option("--state-file", default=state.PATH, show_default=True, help="Where the verdict is kept.", metavar="FILE")
def command(scope: str, form: str | None, as_json: bool, exit_codes: str, state_file: str) -> int:
    """Print the last verdict of this host, of 'hostagent check' or the daemon, without a new run.

    Exit 0: ready or degraded, fresh, of this boot. 1: anything else, a missing or damaged file too. Other codes: see --exit-codes; a
    verdict that is missing, old, or of another boot is unknown there. A profile file that changed since is named; the verdict is valid
    until it expires.
    """
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"found --format {form} and --json, wanted one of them")
    is_nagios = exit_codes == "nagios"
    form = "json" if as_json else form or ("line" if is_nagios else "text")
    now = time.time()
    found = state.read(state_file, now)
    placeable = found.placeable(_SCOPES[scope])
    changes = found.profile_changes()
    if form == "line":
        from hostagent.outputs.line import for_nagios, one_line

        line = one_line(_line(found, _SCOPES[scope if is_nagios else "single"]))
        put(for_nagios(line) if is_nagios else line)
    elif form == "json":
        added = {"problem": found.problem, "placeable": placeable, "profile_changed": changes}
        put(json.dumps({**found.data, **added}, indent=1) + "\n")
    else:
        say(*_lines(found, now, changes))
    if is_nagios:
        return NAGIOS_CODES["unknown" if found.problem else found.data["verdict"][_SCOPES[scope]]]
    return 0 if placeable else 1


def _line(found: state.State, scope: str) -> str:
    """As ``hostagent check --format line`` has it; unknown where the verdict does not count."""
    if found.problem:
        return f"UNKNOWN: {found.problem}: {_next_step(found)}"
    from hostagent.outputs.line import both

    verdict = found.data["verdict"]
    nothing = "Every check that counts passes" if verdict[scope] == "ready" else "'hostagent check' says why"
    return f"{both(verdict, scope, _gap(found.data))}: {_cause(found.data) or nothing}."


def _cause(data: Mapping[str, Any]) -> str:
    return f"{data.get('headline', '')}. {' '.join(data.get('todo', ())[:2])}".strip(". ")


def _gap(data: Mapping[str, Any]) -> str:
    """What could not be read, as a word; "" where nothing is missing or the file does not say."""
    word = str(data.get("coverage", ""))
    return "" if word == "full" else word


def _next_step(found: state.State) -> str:
    if not found.data:
        return "run 'hostagent check' as root"
    return "is the daemon at work?" if found.is_daemons else "run 'hostagent check' again"


def _lines(found: state.State, now: float, changes: Mapping[str, str] | None) -> list[str]:
    if not found.data:
        return [f"UNKNOWN: {found.problem}", "Run 'hostagent check' as root to judge this host."]
    data, verdict = found.data, found.data["verdict"]
    single, multi = _words(verdict["single_node"]), _words(verdict["multi_node"])
    lines = [f"STALE  {found.problem}: {_next_step(found)}"] if found.problem else []
    lines.append(f"{single.upper()}  {_cause(data)}".rstrip() + (f" (multi-node: {multi})" if single != multi else ""))
    observed, expiry = now - data["observed_at"], data["valid_until"] - now
    lines.append(f"  checked {ago(observed)} ago by profile {data['profile']['name']}, valid for another {ago(max(0, expiry))}")
    if gap := _gap(data):
        lines.append(f"  {gap_in_words(gap)}")
    lines += [*_daemon_lines(data), *_last_lines(data), *_profile_lines(found, changes)]
    if data["reasons"]:
        count = len({one["id"] for one in data["reasons"]})
        lines.append(f"  {count} check{'' if count == 1 else 's'} did not pass: 'hostagent check' tells them, --format json lists them")
    return lines


def _daemon_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """What the daemon publishes beyond the verdict, and where the last pass measured something else."""
    parts = [one for one in data.get("conditions", ()) if one["status"] != "True" and one["type"] not in _WHOLE]
    if parts:
        listed = ", ".join(f"{one['type']} {one['status']} ({one['reason']})" for one in parts)
        yield f"  conditions of the node: {listed}"
    measured = data.get("measured", data["verdict"])
    if measured != data["verdict"]:
        single, multi = _words(measured["single_node"]), _words(measured["multi_node"])
        flaps = any(one["reason"] == "Flapping" for one in data.get("conditions", ()) if one["type"] in _WHOLE)
        yield f"  the last pass found it {single}{f' (multi-node: {multi})' if single != multi else ''}; {_FLAPS if flaps else _WAITS}"


def _last_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """The last transition that the daemon recorded."""
    one = data.get("last_transition")
    if isinstance(one, Mapping):
        yield f"  last change {moment(one['at'])}: {one['condition']} {one['old'] or 'none'} -> {one['new'] or 'removed'} ({one['reason']})"


def _profile_lines(found: state.State, changes: Mapping[str, str] | None) -> Iterator[str]:
    if changes is None:
        if not found.has_profile_elsewhere:
            yield "  does not say which profile files it was judged by: run 'hostagent check' again"
        return
    for path, change in changes.items():
        if change.startswith("unreadable"):
            yield f"  profile file {path} is {change}, so whether it changed since is not known"
        elif found.is_daemons:
            yield f"  profile file {path} has {change} since: the daemon's next pass is by it"
        else:
            yield f"  profile file {path} has {change} since: run 'hostagent check' again"


def _words(verdict: str) -> str:
    return verdict.replace("_", " ")
