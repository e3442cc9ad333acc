"""The state file: the last verdict of this host, for ``status`` and for whoever asks without a run of its own."""

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

from hostagent.report import PLACEABLE, SCHEMA_VERSION, Report, Verdict

PATH = "/run/hostagent/state.json"
_MAX_BYTES = 1024 * 1024
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class State(NamedTuple):
    """What the file says, and why it cannot be relied on ("" when it can)."""

    data: Mapping[str, Any]
    problem: str

    def placeable(self, scope: str) -> bool:
        """A fresh verdict of this boot that lets a job be placed. `scope`: single_node, multi_node."""
        return not self.problem and self.data["verdict"][scope] in PLACEABLE


def save(report: Report, path: str = PATH) -> None:
    """Write the file whole or not at all, readable by everybody. Raises ``OSError``."""
    from hostagent.sinks.deliver import deliver

    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    reasons = [
        {"id": one.id, "outcome": one.outcome, "severity": one.severity, "subject": one.subject, "code": one.code, "message": one.message}
        for one in report.findings
        if one.outcome in ("fail", "warn", "unknown") and one.severity != "info"
    ]
    data = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": report.tool.name, "version": report.tool.version},
        "observed_at": report.observed_at,
        "valid_until": report.valid_until,
        "boot_id": report.boot_id,
        "profile": {"name": report.profile.name, "hash": report.profile.hash},
        "verdict": {"single_node": report.verdict.single_node, "multi_node": report.verdict.multi_node},
        "reasons": reasons,
    }
    deliver(json.dumps(data, indent=1) + "\n", path, mode=0o644)


def read(path: str, now: float) -> State:
    """The last verdict, with what is wrong with it: missing, damaged, expired, or of another boot."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            raw = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        return State({}, f"no verdict in {path} ({(error.strerror or str(error)).lower()})")
    try:
        data = json.loads(raw)
        if data["schema_version"] != SCHEMA_VERSION:
            return State({}, f"{path} has schema_version {data['schema_version']!r}, wanted {SCHEMA_VERSION}")
        valid_until, verdict = float(data["valid_until"]), data["verdict"]
        placeable = {str(verdict[scope]) for scope in ("single_node", "multi_node")}
        damaged = not placeable <= set(get_args(Verdict)) or not isinstance(data["reasons"], list)
        float(data["observed_at"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return State({}, f"{path} is damaged ({type(error).__name__}: {error})")
    if damaged:
        return State({}, f"{path} is damaged (no verdict in it)")
    if data["boot_id"] != _boot_id():
        return State(data, "the verdict is from another boot")
    if now > valid_until:
        return State(data, f"the verdict expired {now - valid_until:.0f} s ago")
    return State(data, "")


def _boot_id() -> str:
    try:
        with open(_BOOT_ID, encoding="ascii") as stream:
            return stream.read().strip()
    except OSError:
        return "unreadable"
