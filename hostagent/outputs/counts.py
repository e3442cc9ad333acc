"""How many checks passed, failed and so on, each counted once."""

from collections import Counter
from collections.abc import Mapping

from hostagent.engine.report import Judgement, Report

#: The outcomes, worst first; and in display order.
_KINDS = ("failed", "unknown", "to look at", "worth knowing", "passed", "off", "not applicable")
_SHOWN = ("passed", "failed", "unknown", "to look at", "worth knowing", "not applicable", "off")


def counts(report: Report) -> Mapping[str, int]:
    """How many checks there are of each kind, each counted once by its worst outcome."""
    found = Counter(kinds(report).values())
    return {kind: found[kind] for kind in _KINDS}


def kinds(report: Report) -> Mapping[str, str]:
    """The outcome of each check: its worst."""
    worst: dict[str, int] = {}
    for one in report.findings:
        worst[one.id] = min(worst.get(one.id, len(_KINDS)), _KINDS.index(_kind(one)))
    return {name: _KINDS[place] for name, place in worst.items()}


def summary(report: Report) -> str:
    """``121 passed, 3 failed, 25 unknown, 21 not applicable (0.04 s)``."""
    number, took = counts(report), report.timings_ms.get("total")
    shown = ", ".join(f"{number[kind]} {kind}" for kind in _SHOWN if number[kind])
    return (shown or "no checks") + (f" ({took / 1000:.2f} s)" if took is not None else "")


def _kind(one: Judgement) -> str:
    if one.outcome in ("fail", "warn"):
        return (
            "worth knowing" if one.severity == "info" else "failed" if (one.outcome, one.severity) == ("fail", "critical") else "to look at"
        )
    return {"pass": "passed", "unknown": "unknown", "skip": "not applicable"}.get(one.outcome, "off")


def took(report: Report) -> str:
    """``0.04 s``, or "" where it was not measured."""
    total = report.timings_ms.get("total")
    return f"{total / 1000:.2f} s" if total is not None else ""
