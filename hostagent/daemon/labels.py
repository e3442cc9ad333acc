"""Labels and annotations of a node, from its published state. A value None removes the name: what was not read has no label."""

from collections.abc import Mapping
from typing import Any

from hostagent.daemon.debounce import State
from hostagent.engine.report.node_status import compact
from hostagent.kube.labelsyntax import is_value

_WORDS = {"ready": "true", "degraded": "true", "not_ready": "false"}
#: Seconds: each change of a label wakes every scheduler.
_STEP_S = 1800
#: Of the summary: they move with each pass.
_TIMES = ("observed_at", "valid_until")


def labels(summary: Mapping[str, Any], state: State, *, valid_until: bool = False) -> dict[str, str | None]:
    """By name without our prefix. `valid_until`: whether the end of the verdict's time is one of them, in steps of half an hour,
    the next one after it: no label of a daemon at work is in the past.
    """
    gpus, fabric = _part(summary.get("gpus")), _part(summary.get("fabric"))
    found: dict[str, Any] = {
        "ready": _WORDS.get(state.verdict("Ready"), "unknown"),
        "multi-node-ready": _WORDS.get(state.verdict("MultiNodeReady"), "unknown"),
        "gpu-count": gpus.get("count"),
        "gpu-product": gpus.get("product"),
        "compute-capability": gpus.get("compute_capability"),
        "driver-branch": _branch(summary.get("driver")),
        "fabric-class": fabric.get("class"),
        "coverage": summary.get("coverage"),
    }
    if valid_until:
        found["valid-until"] = int(-(-summary["valid_until"] // _STEP_S) * _STEP_S)
    return {name: label_value(value) for name, value in found.items()}


def unknown_labels() -> dict[str, str | None]:
    """Where there is no verdict: before the first pass of a boot, and when no pass was judged for too long."""
    return {"ready": "unknown", "multi-node-ready": "unknown"}


def annotations(summary: Mapping[str, Any]) -> dict[str, str | None]:
    """The summary without its times, which the heartbeat has."""
    return {"summary": compact({name: value for name, value in summary.items() if name not in _TIMES})}


def label_value(value: Any) -> str | None:
    """None for what is no label, or was not read.

    >>> label_value(8), label_value("NVIDIA-H100-80GB-HBM3"), label_value({"unread": "denied"}), label_value("A,B"), label_value("")
    ('8', 'NVIDIA-H100-80GB-HBM3', None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) if str(value) and is_value(str(value)) else None


def _branch(version: Any) -> str | None:
    """The first number of a version."""
    return version.partition(".")[0] if isinstance(version, str) else None


def _part(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) and "unread" not in value else {}
