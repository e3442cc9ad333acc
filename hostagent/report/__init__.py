"""The report: judgements, verdicts, coverage. Its JSON is API: versioned, only ever extended."""

# Where no check of scope node was selected (`--only nccl`), the selected checks decide both verdicts; a whole run always has
# checks of the node, so there `multi_node` needs `single_node`. If no check that counts passed, failed or warned, the verdict is
# unknown.

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, Literal

from hostagent.facts.frozen import frozen
from hostagent.steps import Step
from hostagent.vocabulary import Action, Axis, Kind, Outcome, Scope, Severity, Verdict

SCHEMA_VERSION = 2

#: Of a shortened report.
_SHORT_FINDINGS, _SHORT_TEXT = 50, 200
PLACEABLE: tuple[Verdict, ...] = ("ready", "degraded")


@frozen
class Cause:
    """The finding that another one is told under, or itself: of which check, about what ("" for the whole host)."""

    id: str
    subject: str


@frozen
class Judgement:
    """One outcome of one check, on one subject or on the whole host (subject and subject_kind "")."""

    id: str
    outcome: Outcome
    severity: Severity
    scope: Scope
    axis: Axis
    subject: str
    subject_kind: str  # gpu, runtime …: the subject's class in snake case
    device: str  # the subject as people call it: "GPU 4 (0000:9d:00.0)"
    code: str
    message: str
    found: str
    wanted: str
    headline: str  # what happened, of what failed or warned: at most 90 characters, the same from run to run
    action: Action  # of the first step
    remedy: tuple[Step, ...]
    evidence: tuple[str, ...]
    unread: str  # the question that had no answer, as a snapshot writes it, "" where there is none: equal ones are one gap
    cause: Cause = Cause("", "")  # of what failed, warned or is unknown: told under this, a cause of its own names itself; id "" of others


@frozen
class Security:
    """``policy``: what the profile lets advisories count; ``advisories``: findings of the axis; ``unknown``: its judgements without one."""

    policy: Literal["advisory", "warning", "critical"]
    advisories: int
    unknown: int


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
    platform: str  # "GKE node"; "" for a host of no platform that this release knows
    node_name: str = ""  # what its schedulers call it


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
    """One run over one host. Times are seconds since the epoch; ``timings_ms`` is by reader and stage; ``read_from`` is what was read,
    ``replayed`` whether from a snapshot of it, ``simulated`` whether it was a made tree and no live host. ``headline`` and ``action``
    are those of the first cause ("" and "none" where nothing counts). ``findings`` are ordered by id, then subject; ``reading_order``
    names their checks as a reader wants to be told of them, causes before consequences. ``cages`` is by lane what held while its
    driver's library was asked.
    """

    schema_version: int
    tool: Tool
    observed_at: float
    valid_until: float
    observed_at_iso: str
    valid_until_iso: str
    boot_id: str
    read_from: Kind
    replayed: bool
    simulated: bool
    partial: bool
    host: HostIdentity
    profile: ProfileIdentity
    verdict: Verdicts
    headline: str
    action: Action
    findings: tuple[Judgement, ...]
    reading_order: tuple[str, ...]
    coverage: Coverage
    security: Security
    facts: Mapping[str, Any]
    cages: Mapping[str, Mapping[str, Any]]
    timings_ms: Mapping[str, float]


#: What every document about a host begins with, as it stands in the report of the same pass.
_HEAD = ("tool", "observed_at", "observed_at_iso", "boot_id", "read_from", "replayed", "simulated", "host", "profile")


def head_of(report: Report) -> dict[str, Any]:
    """Of which run, when, of which host, by which profile: fields of a document, by name."""
    return {name: getattr(report, name) for name in _HEAD}


_PCI = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")


def subject_order(subject: str) -> tuple[Any, ...]:
    """The key that sorts subjects: numbers by their value, PCI addresses, which are hexadecimal, as text.

    >>> sorted(["mlx5_10", "mlx5_2", "0000:9d:00.0", "0000:10:00.0"], key=subject_order)
    ['0000:10:00.0', '0000:9d:00.0', 'mlx5_2', 'mlx5_10']
    """
    if _PCI.fullmatch(subject):
        return ((subject,), subject)
    parts = re.split("([0-9]+)", subject)  # every second one is a number
    return (tuple((len(part.lstrip("0")), part.lstrip("0")) if at % 2 else part for at, part in enumerate(parts)), subject)


def verdicts(judgements: tuple[Judgement, ...]) -> Verdicts:
    """Outcome and severity meet here and nowhere else. ``multi_node`` needs ``single_node``.

    Where only checks about jobs of several nodes were selected, they alone decide both.
    """
    whole, of_node = verdict_of(judgements), [one for one in judgements if one.scope == "node"]
    node = verdict_of(of_node) if of_node else whole
    return Verdicts(single_node=node, multi_node=node if node == "unknown" and whole in PLACEABLE else whole)


def verdict_of(judgements: Iterable[Judgement]) -> Verdict:
    """The one verdict over some judgements, whatever their scope."""
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
    worst.sort(key=lambda one: (one.severity != "critical", ("fail", "warn", "unknown").index(one.outcome)))
    texts = ("subject", "device", "message", "found", "wanted", "headline")
    findings = tuple(
        replace(one, evidence=(), remedy=one.remedy[:1], **{name: getattr(one, name)[:_SHORT_TEXT] for name in texts})
        for one in worst[:_SHORT_FINDINGS]
    )
    late = {"unread": "timeout", "detail": "the report is shortened"}
    # A host may say a megabyte where its name belongs, and wrapping that takes seconds.
    host = HostIdentity(*(getattr(report.host, field.name)[:_SHORT_TEXT] for field in fields(HostIdentity)))
    boot_id = report.boot_id[:_SHORT_TEXT]
    return replace(report, boot_id=boot_id, host=host, findings=findings, facts=dict.fromkeys(report.facts, late))


def security(judgements: tuple[Judgement, ...], policy: Literal["advisory", "warning", "critical"]) -> Security:
    outcomes = [one.outcome for one in judgements if one.axis == "security"]
    return Security(policy, outcomes.count("fail") + outcomes.count("warn"), outcomes.count("unknown"))


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
