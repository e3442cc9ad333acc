"""The state directory of the daemon: what it tells, for everybody on the host, and what it needs after a restart.

Each file is written whole or not at all. One that cannot be written (a full disk) costs no pass: it stays as it was, and expires.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from hostagent.daemon.conditions import TYPES
from hostagent.daemon.told import State
from hostagent.deliver.file import deliver
from hostagent.report import Report, state
from hostagent.report.nodewords import compact
from hostagent.smallfile import read_small, reason
from hostagent.typed import ShapeError, build, plain
from hostagent.visible import visible

STATE, SUMMARY, REPORT, TOLD, HISTORY, CLEARED = "state.json", "summary.json", "report.json", "told.json", "history.json", "cleared.json"
#: Mode of each file. The report quotes logs, which are root's to read; what is read back alone is nobody else's.
MODES = {STATE: 0o644, SUMMARY: 0o644, REPORT: 0o600, TOLD: 0o600, HISTORY: 0o600}
_MAX_BYTES = 1024 * 1024
_MAX_TIME = 1e12  # seconds since the epoch


class Kept(NamedTuple):
    """What was read back, and why not ("" where it was, or where there is none)."""

    value: Any
    problem: str = ""


def save(folder: str, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Write the files of these names. What could not be written, a sentence each."""
    try:
        state.make(folder)
    except OSError as error:
        return (f"no state written to {folder}: {reason(error)}",)
    return tuple(problem for name, text in texts.items() if (problem := _saved(os.path.join(folder, name), text, MODES[name])))


def _saved(path: str, text: str, mode: int) -> str:
    try:
        deliver(text, path, mode=mode)
    except OSError as error:
        return f"{path} is not written and stays as it was: {reason(error)}"
    return ""


def texts(
    report: Report, told: State, profile_files: Iterable[tuple[str, str]] | None, summary: Mapping[str, Any], report_text: str
) -> dict[str, str]:
    """The files after one pass, by name, but for the history. `profile_files`: see `state.document`; `report_text`: the report as JSON."""
    return {
        TOLD: json.dumps(plain(told)) + "\n",
        REPORT: report_text,
        SUMMARY: f"{compact(summary)}\n",
        STATE: json.dumps(document(report, told, profile_files), indent=1) + "\n",
    }


def document(report: Report, told: State, profile_files: Iterable[tuple[str, str]] | None) -> dict[str, Any]:
    """The state file: its verdict is the one that is told; what the last pass found is ``measured``."""
    found = state.document(report, profile_files)
    verdict, headline = plain(told.verdicts), told.headline_beside(report.verdict)
    instead = {"headline": headline, "action": "none", "todo": []} if headline else {}
    return {**found, "verdict": verdict, **instead, "measured": found["verdict"], "conditions": plain(told.conditions)}


def told(folder: str, boot_id: str) -> Kept:
    """What was told last in this boot, a ``State``; None where nothing was, or where that or the boot ("") cannot be read."""

    def parsed(text: str) -> State:
        found: State = build(State, json.loads(text), "told")
        if tuple(one.type for one in found.held) != TYPES:
            raise ValueError("found other conditions")
        times = [time for one in found.held for time in (one.changed_at, one.flapping_until, *(change.at for change in one.changes))]
        if not all(0 <= one <= _MAX_TIME for one in times):
            raise ValueError("found a time out of range")
        return found

    kept = _read(os.path.join(folder, TOLD), parsed)
    return kept if kept.value and boot_id and kept.value.boot_id == boot_id else Kept(None, kept.problem)


def history(folder: str) -> Kept:
    """The text of the history, "" where there is none or where it cannot be read."""
    kept = _read(os.path.join(folder, HISTORY), str)
    return kept._replace(value=kept.value or "")


def _read(path: str, parsed: Callable[[str], Any]) -> Kept:
    try:
        return Kept(parsed(read_small(path, _MAX_BYTES, {0, os.geteuid()}).decode()))
    except FileNotFoundError:
        return Kept(None)
    except OSError as error:
        return Kept(None, f"{path} is not read: {reason(error)}")
    except (ValueError, TypeError, RecursionError, ShapeError) as error:
        return Kept(None, f"{path} is damaged: {visible(str(error)[:200])}")
