"""The report: judgements, verdicts, coverage. Its JSON is API: versioned, only ever extended."""

# Where no check of scope node was selected (`--only nccl`), the selected checks decide both verdicts; a whole run always has
# checks of the node, so there `multi_node` needs `single_node`. If no check that counts passed, failed or warned, the verdict is
# unknown.

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, Literal

from hostagent.core.frozen import frozen
from hostagent.core.steps import Step
from hostagent.core.vocabulary import Action, Axis, Kind, Outcome, Scope, Severity, Verdict

SCHEMA_VERSION = 2

#: Of a shortened report.
_SHORT_FINDINGS, _SHORT_TEXT = 50, 200
PLACEABLE: tuple[Verdict, ...] = ("ready", "degraded")


@frozen
class Cause:
    """The root cause of a finding, or the finding itself: check and subject ("" for the whole host)."""

    id: str
    """The check of that finding."""
    subject: str
    """Its subject, empty for the whole host."""


@frozen
class Judgement:
    """One outcome of one check, on one subject or on the whole host (subject and subject_kind "")."""

    id: str
    """The check."""
    outcome: Outcome
    """Its result: unknown is never fine, skip does not apply here, off is turned off by the profile."""
    severity: Severity
    """The effect of a failure on the verdict: critical is not ready, warning is degraded, info has none."""
    scope: Scope
    """Whether it counts for every job (node) or only for jobs of several nodes (fabric)."""
    axis: Axis
    """Whether it is about jobs that run here (fitness) or about published vulnerabilities (security)."""
    subject: str
    """The key of its device or runtime, such as a PCI address; empty for the whole host."""
    subject_kind: str
    """The kind of the subject: gpu, runtime; device where the host no longer shows it; empty for the whole host."""
    device: str
    """Display name of the subject: "GPU 4 (0000:9d:00.0)"."""
    code: str
    """The reason within the check: stable, for programs. Empty where it passed."""
    message: str
    """The result as text for people. It may change from release to release."""
    found: str
    """The value that was found."""
    wanted: str
    """The value that was wanted."""
    headline: str
    """What happened, in at most 90 characters, the same from run to run."""
    action: Action
    """The action of its first step."""
    remedy: tuple[Step, ...]
    """What to do about it, in steps."""
    evidence: tuple[str, ...]
    """Lines of logs and files that show it."""
    unread: str
    """The question that had no answer, as a snapshot writes it: equal ones are one gap. Empty where there is none."""
    cause: Cause = Cause("", "")
    """The root cause, or this finding itself where it is one. Both names are empty where nothing is wrong."""


@frozen
class Security:
    """``policy``: what the profile lets advisories count; ``advisories``: findings of the axis; ``unknown``: its judgements without one."""

    policy: Literal["advisory", "warning", "critical"]
    """What the profile lets them count."""
    advisories: int
    """How many findings there are."""
    unknown: int
    """How many could not be checked."""


@frozen
class Coverage:
    """Checks, each counted once: unknown when any of its judgements is, else judged, skipped or off."""

    judged: int
    """Those with an outcome on all their subjects."""
    unknown: int
    """Those with an unknown."""
    skipped: int
    """Those that do not apply here."""
    off: int
    """Those that the profile turned off."""


@frozen
class Verdicts:
    """May this host take a single-node job; may it be one node of several."""

    single_node: Verdict
    """For a job of one node."""
    multi_node: Verdict
    """For a job of several nodes, of which this host is one; never better than single_node."""


@frozen
class HostIdentity:
    """The host that was judged."""

    hostname: str
    """Its name."""
    os: str
    """Its distribution."""
    kernel: str
    """Its running kernel, or the one that an image boots."""
    arch: str
    """Its instruction set, as uname says it."""
    platform: str
    """Such as "GKE node"; empty for a host of no platform that this release knows."""
    node_name: str = ""
    """Its name in schedulers: NODE_NAME where that is set, else the host name in lower case."""


@frozen
class ProfileIdentity:
    """The profile that it was judged by. ``origin``: the layer that set each effective value."""

    name: str
    """Its name, or the file."""
    hash: str
    """A digest of its effective values: equal digests are equal profiles."""
    origin: Mapping[str, str]
    """For each effective value, the layer that set it."""


@frozen
class Tool:
    """The program that judged."""

    name: str
    """hostagent."""
    version: str
    """Its version."""


@frozen
class Report:
    """One run over one host. Times are seconds since the epoch; ``timings_ms`` is by reader and stage; ``read_from`` is the kind of host,
    ``replayed`` whether from a snapshot of it, ``simulated`` whether from a simulated tree. ``headline`` and ``action`` are those of the
    first cause ("" and "none" where nothing counts). ``findings`` are ordered by id, then subject; ``reading_order`` has their checks in
    display order, causes before consequences. ``cages`` is by lane the sandbox of its driver's library.
    """

    schema_version: int
    """The version of this document. Names are only ever added within one."""
    tool: Tool
    """The program that made the report."""
    observed_at: float
    """When the host was read, in seconds since 1970."""
    valid_until: float
    """Until when the verdict is valid, in seconds since 1970; the profile sets the duration."""
    observed_at_iso: str
    """The same time as observed_at, in UTC by ISO 8601."""
    valid_until_iso: str
    """The same time as valid_until, in UTC by ISO 8601."""
    boot_id: str
    """The kernel's id of this boot. A verdict of another boot is stale."""
    read_from: Kind
    """What was read: this machine (live), a live host below another root (host-root), or an image that does not run."""
    replayed: bool
    """Whether the answers come from a snapshot."""
    simulated: bool
    """Whether the snapshot is of a simulated tree and not of a live host."""
    partial: bool
    """Whether only selected checks ran: such a report says nothing of the whole host."""
    host: HostIdentity
    """The host that was checked."""
    profile: ProfileIdentity
    """The desired state that the host was compared with."""
    verdict: Verdicts
    """Whether jobs may be placed here."""
    headline: str
    """What happened first, in at most 90 characters, the same from run to run; empty where nothing counts."""
    action: Action
    """What to do first about it: the action of the first step."""
    findings: tuple[Judgement, ...]
    """All outcomes, ordered by check and subject."""
    reading_order: tuple[str, ...]
    """The checks in display order, causes before consequences."""
    coverage: Coverage
    """How many checks there were, each counted once."""
    security: Security
    """Published vulnerabilities of what runs here."""
    facts: Mapping[str, Any]
    """What the host is, as far as it was read."""
    cages: Mapping[str, Mapping[str, Any]]
    """By driver library, and for an image: what the sandbox denied while it was used or read."""
    timings_ms: Mapping[str, float]
    """How long readers and stages took, in milliseconds."""


#: Fields that every document about a host begins with, as in the report of the same pass.
_HEAD = ("tool", "observed_at", "observed_at_iso", "boot_id", "read_from", "replayed", "simulated", "host", "profile")


def head_of(report: Report) -> dict[str, Any]:
    """Run, time, host and profile: fields of a document, by name."""
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
    """The one place where outcome and severity become verdicts. ``multi_node`` needs ``single_node``.

    Where only checks about jobs of several nodes were selected, they decide both.
    """
    whole, of_node = verdict_of(judgements), [one for one in judgements if one.scope == "node"]
    node = verdict_of(of_node) if of_node else whole
    return Verdicts(single_node=node, multi_node=node if node == "unknown" and whole in PLACEABLE else whole)


def verdict_of(judgements: Iterable[Judgement]) -> Verdict:
    """The verdict of some judgements, whatever their scope."""
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
    """The verdict and the first failures with the start of their texts, without facts: fast to write."""
    worst = [one for one in report.findings if one.outcome in ("fail", "warn", "unknown")]
    worst.sort(key=lambda one: (one.severity != "critical", ("fail", "warn", "unknown").index(one.outcome)))
    texts = ("subject", "device", "message", "found", "wanted", "headline")
    findings = tuple(
        replace(one, evidence=(), remedy=one.remedy[:1], **{name: getattr(one, name)[:_SHORT_TEXT] for name in texts})
        for one in worst[:_SHORT_FINDINGS]
    )
    late = {"unread": "timeout", "detail": "the report is shortened"}
    # A hostile host name may have a megabyte, and wrapping that takes seconds.
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
    kinds = [_coverage_of(outcomes) for outcomes in by_check.values()]
    return Coverage(*(kinds.count(kind) for kind in ("judged", "unknown", "skipped", "off")))


def _coverage_of(outcomes: set[Outcome]) -> str:
    if "unknown" in outcomes:
        return "unknown"
    if outcomes & {"pass", "warn", "fail"}:
        return "judged"
    return "off" if "off" in outcomes else "skipped"
