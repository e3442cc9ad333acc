"""What each field of a report says, for its schema: by the path of its names."""

# Times are seconds and ISO 8601. The board's serial number is read for -v, HTML and JSON; a snapshot replaces it by its question,
# since no pattern recognises one.

from collections.abc import Mapping
from typing import Any

from hostagent.report.facts.described import FACTS

DESCRIPTIONS: Mapping[str, str] = {
    "schema_version": "The version of this document. Names are only ever added within one.",
    "tool": "The program that made the report.",
    "tool.name": "hostagent.",
    "tool.version": "Its version.",
    "observed_at": "When the host was read, in seconds since 1970.",
    "valid_until": "Until when the verdict may be believed, in seconds since 1970; the profile sets how long that is.",
    "observed_at_iso": "The same time as observed_at, in UTC by ISO 8601.",
    "valid_until_iso": "The same time as valid_until, in UTC by ISO 8601.",
    "boot_id": "The kernel's id of this boot. A verdict of another boot is stale.",
    "read_from": "What was read: this machine (live), a live host below another root (host-root), or an image that does not run.",
    "replayed": "Whether the answers come from a snapshot.",
    "simulated": "Whether the snapshot is of a made tree and of no live host.",
    "partial": "Whether only selected checks ran: such a report says nothing of the whole host.",
    "host": "The host that was checked.",
    "host.hostname": "Its name.",
    "host.node_name": "What its schedulers call it: NODE_NAME where that is set, else the host name in lower case.",
    "host.os": "Its distribution.",
    "host.kernel": "Its running kernel, or the one that an image boots.",
    "host.arch": "Its instruction set, as uname says it.",
    "host.platform": 'Such as "GKE node"; empty for a host of no platform that this release knows.',
    "profile": "The desired state that the host was compared with.",
    "profile.name": "Its name, or the file.",
    "profile.hash": "A digest of its effective values: equal digests are equal profiles.",
    "profile.origin": "For each effective value, the layer that set it.",
    "verdict": "Whether jobs may be placed here.",
    "verdict.single_node": "For a job of one node.",
    "verdict.multi_node": "For a job of several nodes, of which this host is one; never better than single_node.",
    "headline": "What happened first, in at most 90 characters, the same from run to run; empty where nothing counts.",
    "action": "What to do first about it: the action of the first step.",
    "findings": "All outcomes, ordered by check and subject.",
    "findings.id": "The check.",
    "findings.outcome": "What came of it: unknown is never fine; skip is what does not apply, off what the profile turned off.",
    "findings.severity": "What a failure of it counts: critical is not ready, warning is degraded, info counts nothing.",
    "findings.scope": "Whether it counts for every job (node) or only for jobs of several nodes (fabric).",
    "findings.axis": "Whether it is about jobs that run here (fitness) or about published vulnerabilities (security).",
    "findings.subject": "The key of the device or runtime that it is about, such as a PCI address; empty for the whole host.",
    "findings.subject_kind": "What the subject is: gpu, runtime; device where the host no longer shows it; empty for the whole host.",
    "findings.device": 'The subject as people call it: "GPU 4 (0000:9d:00.0)".',
    "findings.code": "The reason within the check: stable, for programs. Empty where it passed.",
    "findings.message": "What was found, for people. It may change from release to release.",
    "findings.found": "The value that was found.",
    "findings.wanted": "The value that was wanted.",
    "findings.headline": "What happened, in at most 90 characters, the same from run to run.",
    "findings.action": "The action of its first step.",
    "findings.remedy": "What to do about it, in steps.",
    "findings.remedy.action": "What kind of step it is.",
    "findings.remedy.text": "The step, for people.",
    "findings.remedy.command": "What a shell runs as it stands; <name> is what hostagent cannot know. Empty where there is none.",
    "findings.remedy.if_back": "Whether it is only for a fault that comes back.",
    "findings.evidence": "Lines of logs and files that show it.",
    "findings.unread": "The question that had no answer, as a snapshot writes it: equal ones are one gap. Empty where there is none.",
    "findings.cause": "The finding that this one is told under; itself where it is a cause. Both names are empty where nothing is wrong.",
    "findings.cause.id": "The check of that finding.",
    "findings.cause.subject": "Its subject, empty for the whole host.",
    "reading_order": "The checks in the order in which a reader wants to hear of them, causes before what follows from them.",
    "coverage": "How many checks there were, each counted once.",
    "coverage.judged": "Those with an outcome on all their subjects.",
    "coverage.unknown": "Those with an unknown.",
    "coverage.skipped": "Those that do not apply here.",
    "coverage.off": "Those that the profile turned off.",
    "security": "Published vulnerabilities of what runs here.",
    "security.policy": "What the profile lets them count.",
    "security.advisories": "How many findings there are.",
    "security.unknown": "How many could not be checked.",
    **FACTS,
    "cages": "By driver library, and for an image, what was not allowed while it was asked or read.",
    "timings_ms": "How long readers and stages took, in milliseconds.",
}  # fmt: skip

_UNREAD = {"unread": "Why there is no value.", "detail": "The same for people."}


def described(shape: Any, path: str = "", texts: Mapping[str, str] = DESCRIPTIONS) -> Any:
    """The schema with the description of each field that stands in `texts`; lists and maps add nothing to a path."""
    if isinstance(shape, list):
        return [described(one, path, texts) for one in shape]
    if not isinstance(shape, dict):
        return shape
    return {key: _properties(value, path, texts) if key == "properties" else described(value, path, texts) for key, value in shape.items()}


def _properties(fields: Mapping[str, Any], path: str, texts: Mapping[str, str]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for name, shape in fields.items():
        place = f"{path}.{name}" if path else name
        text = _UNREAD.get(name) if set(fields) == set(_UNREAD) else texts.get(place)
        whole[name] = {**described(shape, place, texts), **({"description": text} if text else {})}
    return whole
