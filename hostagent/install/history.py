"""Summary of a recorded run: its outcome and changes."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hostagent.core.errors import HostagentError
from hostagent.core.text import counted
from hostagent.install.remembered import moment, plans
from hostagent.install.runs import Run
from hostagent.plan.document import version_of

#: By a run's state.
_ENDS = {"begun": "did not end", "undoing": "its rollback did not end", "undone": "taken back", "reboot": "done, a reboot was due"}


class RunSummary(NamedTuple):
    """`began` in seconds since 1970; `ended` and `changes` for people."""

    number: int
    began: float
    ended: str
    changes: str


def summary_of(run: Run) -> RunSummary:
    """Of a damaged run, what can be read."""
    journal = run.journal()
    began = next((moment(one.get("at")) for one in journal if one.get("event") == "begin"), 0.0)
    end: Mapping[str, Any] = next((one for one in reversed(journal) if one.get("event") == "end"), {})
    state = run.state
    why = f": {end['message']}" if state == "failed" and end.get("message") else ""
    did = {str(one.get("step")) for one in journal if one.get("event") == "operation" and one.get("ok")}
    try:
        changes = f"changed {changes_text(plans(run), did)}"
    except (HostagentError, KeyError, TypeError, AttributeError):
        changes = "its plan cannot be read"
    return RunSummary(run.number, began, f"{_ENDS.get(state, state)}{why}", changes)


def changes_text(documents: Iterable[Mapping[str, Any]], did: Iterable[str]) -> str:
    """By the plans of a run and the steps that it carried out.

    >>> package = {"name": "libcuda1", "part": "driver", "from": None, "to": "580.142-1"}
    >>> step = {"id": "driver.packages", "part": "driver", "kind": "packages", "do": [{"run": {}}]}
    >>> written = {"id": "driver.nouveau", "part": "driver", "kind": "file", "do": [{"write": {"path": "/etc/a"}}]}
    >>> changes_text([{"packages": [package], "steps": [step, written]}], ["driver.packages", "driver.nouveau"])
    'driver 580.142-1, 1 package, 1 file'
    >>> changes_text([{"packages": [package], "steps": [step, written]}], [])
    'nothing'
    """
    found, whole = set(did), tuple(documents)
    steps = [step for plan in whole for step in plan["steps"] if step["id"] in found]
    parts = dict.fromkeys(str(step["part"]) for step in steps if step["kind"] == "packages")
    rows = {str(one["name"]): one for plan in whole for one in plan["packages"] if one["part"] in parts}
    versions = [
        f"{part} {version}"
        for part in parts
        if (version := version_of(part, ((name, one["to"]) for name, one in rows.items() if one["part"] == part)))
    ]
    files = {what["path"] for step in steps for one in step["do"] for what in one.values() if "path" in what}
    units = [step for step in steps if step["kind"] in ("unit", "load", "restart")]
    texts = (
        *versions,
        counted(len(rows), "package") if rows else "",
        counted(len(files), "file") if files else "",
        "services" if units else "",
    )
    return ", ".join(filter(None, texts)) or ("marks and modules" if steps else "nothing")
