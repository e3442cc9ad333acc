"""``hostagent daemon history``: transitions and faults of this node. Reads one file, imports no collector."""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.streams import put, say
from hostagent.core.errors import HostagentError
from hostagent.daemon.settings import KEPT, RUN
from hostagent.engine.report.times import iso

_SPAN = re.compile(r"(\d{1,6})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_WANTED = "wanted a span such as 90m, 12h or 7d, or a time such as 2026-11-29T03:00 (UTC)"


@click.command(
    "history",
    context_settings=SETTINGS,
    epilog=examples("hostagent daemon history --help"),
)
@click.option(
    "--since", default="", callback=lambda _, __, value: _begin(value), help="A span back from now, or a time in UTC.", metavar="T"
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output.")
@click.option("--history-dir", default="", type=click.Path(), help=f"The daemon's. Default: {KEPT}, else {RUN}.", metavar="DIR")
def command(since: float, form: str, history_dir: str) -> int:
    """Print what the daemon has recorded: each change of a condition, and when critical faults began and ended.

    The last 256 of each are kept, over restarts and boots. Exit 0: printed, also where nothing happened. 2: usage, or there is no record.
    """
    from hostagent.daemon import record, statedir

    folders = [history_dir] if history_dir else [KEPT, RUN]
    loaded = {os.path.join(one, statedir.RECORD): record.read(one) for one in folders}
    path, newest = max(loaded.items(), key=lambda row: (max((one.at for one in row[1].record.transitions), default=0.0), row[1].problem))
    if not newest.record.transitions:
        why = newest.problem or "there is no such file, or nothing in it"
        raise HostagentError(f"{path} cannot be used: {why}", "Name the folder of the daemon with --history-dir")
    found = record.since(newest.record, since)
    put(json.dumps({"file": path, **found}, indent=1) + "\n") if form == "json" else say(*_lines(found))
    return 0


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["transitions"]:
        yield "No condition changed."
    for one in found["transitions"]:
        old, new = one["old"] or "none", one["new"] or "removed"
        yield f"{iso(one['at'])}  {one['condition']:<14}  {old} -> {new}  {one['reason']}  {one['message']}".rstrip()
    if found["faults"]:
        yield "Critical faults:"
    for one in found["faults"]:
        end = f"to {iso(one['end'])}" if one["end"] else "and not ended yet"
        yield f"  {iso(one['begin'])} {end:<23}  {one['id']}  {one['subject']}  {one['headline']}".rstrip()


def _begin(text: str) -> float:
    """Seconds since the epoch. Raises ``click.BadParameter``.

    >>> _begin(""), _begin("2026-11-29T03:00Z"), _begin("2026-11-29T04:00+01:00")
    (0.0, 1795921200.0, 1795921200.0)
    """
    if not text:
        return 0.0
    if span := _SPAN.fullmatch(text):
        return time.time() - int(span[1]) * _SECONDS[span[2]]
    try:
        found = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text))
        return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(f"found {text!r:.60}, {_WANTED}") from error
