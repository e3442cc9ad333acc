"""The report: judgements, verdicts, coverage. Its JSON is API: versioned, only ever extended."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from hostagent.facts.frozen import frozen

SCHEMA_VERSION = 1

Outcome = Literal["pass", "warn", "fail", "unknown", "skip", "off"]
Verdict = Literal["ready", "degraded", "not_ready", "unknown"]
Severity = Literal["critical", "warning", "info"]
#: Worst first: how a list of judgements is sorted for a reader.
OUTCOMES: tuple[Outcome, ...] = ("fail", "warn", "unknown", "pass", "skip", "off")
#: Of a shortened report.
_SHORT_FINDINGS, _SHORT_TEXT = 50, 200
PLACEABLE: tuple[Verdict, ...] = ("ready", "degraded")


@frozen
class Judgement:
    """One outcome of one check, on one subject or on the whole host (subject "")."""

    id: str
    outcome: Outcome
    severity: Severity
    scope: Literal["node", "fabric"]
    subject: str
    code: str
    message: str
    found: str
    wanted: str
    remediation: str
    evidence: tuple[str, ...]


@frozen
class Coverage:
    """Checks, each counted once: unknown when any of its judgements is, else judged, skipped or off."""

    judged: int
    unknown: int
    skipped: int
    off: int


@frozen
class Verdicts:
    """May this host take a single-node job; may it be one node of several."""

    single_node: Verdict
    multi_node: Verdict


@frozen
class HostIdentity:
    """What was judged."""

    hostname: str
    os: str
    kernel: str
    arch: str


@frozen
class ProfileIdentity:
    """What it was judged by. ``origin``: the layer that set each effective value."""

    name: str
    hash: str
    origin: Mapping[str, str]


@frozen
class Tool:
    """Who judged."""

    name: str
    version: str


@frozen
class Report:
    """One run over one host. Times are seconds since the epoch; ``timings_ms`` is by reader and stage; ``evidence`` is what was
    read, ``replayed`` whether from a snapshot of it.
    """

    schema_version: int
    tool: Tool
    observed_at: float
    valid_until: float
    boot_id: str
    evidence: Literal["live", "host-root", "image"]
    replayed: bool
    partial: bool
    host: HostIdentity
    profile: ProfileIdentity
    verdict: Verdicts
    findings: tuple[Judgement, ...]
    coverage: Coverage
    facts: Mapping[str, Any]
    timings_ms: Mapping[str, float]


def verdicts(judgements: tuple[Judgement, ...]) -> Verdicts:
    """Outcome and severity meet here and nowhere else. ``multi_node`` needs ``single_node``."""
    node, whole = _verdict([one for one in judgements if one.scope == "node"]), _verdict(list(judgements))
    return Verdicts(single_node=node, multi_node=node if node == "unknown" and whole in PLACEABLE else whole)


def _verdict(judgements: list[Judgement]) -> Verdict:
    seen = {(one.severity, one.outcome) for one in judgements}
    if ("critical", "fail") in seen:
        return "not_ready"
    if ("critical", "unknown") in seen:
        return "unknown"
    degrading = {("critical", "warn"), ("warning", "warn"), ("warning", "fail"), ("warning", "unknown")}
    if seen & degrading:
        return "degraded"
    # A host of which nothing that counts was judged is not ready by default.
    return "ready" if any(severity != "info" and outcome == "pass" for severity, outcome in seen) else "unknown"


def shortened(report: Report) -> Report:
    """The verdict, the first failures with the start of their texts, and no facts: what can be written in no time."""
    worst = [one for one in report.findings if one.outcome in ("fail", "warn", "unknown")]
    worst.sort(key=lambda one: (one.severity != "critical", OUTCOMES.index(one.outcome)))
    texts = ("subject", "message", "found", "wanted", "remediation")
    findings = tuple(
        replace(one, evidence=(), **{name: getattr(one, name)[:_SHORT_TEXT] for name in texts}) for one in worst[:_SHORT_FINDINGS]
    )
    late = {"unread": "timeout", "detail": "the report is shortened"}
    return replace(report, findings=findings, facts=dict.fromkeys(report.facts, late))


def coverage(judgements: tuple[Judgement, ...]) -> Coverage:
    """Count each check once, by the least certain of its judgements."""
    by_check: dict[str, set[Outcome]] = {}
    for one in judgements:
        by_check.setdefault(one.id, set()).add(one.outcome)
    kinds = [_counted(outcomes) for outcomes in by_check.values()]
    return Coverage(*(kinds.count(kind) for kind in ("judged", "unknown", "skipped", "off")))


def _counted(outcomes: set[Outcome]) -> str:
    if "unknown" in outcomes:
        return "unknown"
    if outcomes & {"pass", "warn", "fail"}:
        return "judged"
    return "off" if "off" in outcomes else "skipped"
