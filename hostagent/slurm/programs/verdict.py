"""Reads the last verdict of a node: of the daemon's state file, or of our own programs."""

# Whether slurmd runs is left out: slurmd has started this program, and a daemon that saw it stopped during a restart would drain
# the node.

import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from hostagent.core.frozen import frozen
from hostagent.core.vocabulary import Verdict
from hostagent.engine.report import PLACEABLE, daemon_lock, state
from hostagent.slurm.programs.spool import FOLDER, VERDICT, Spool

Scope = Literal["single", "multi"]
Author = Literal["daemon", "health", "prolog", "epilog"]
#: Of the two scopes.
CONDITIONS = ("Ready", "MultiNodeReady")
#: slurmd starts the programs, so it runs, whatever an earlier look has found.
OF_SLURMD = "slurm.slurmd_running"
#: Reasons of a daemon that has no verdict.
_NOT_YET = {"AgentStale", "FirstPass"}
_AUTHORS = get_args(Author)
#: As `hostagent.engine.evaluate`, `hostagent.engine.collect` and `hostagent.engine.collector_process` say it.
_CRASHED = re.compile(r"(?:^the check|\breading \w+|\bthe (?:reading process|worker)) crashed: |^not judged \(timeout: ")
#: Seconds for which the verdict of a daemon that no longer runs is taken: two of its intervals and a deadline, as it is by default. Later
#: it would be silent about what has happened since.
_AFTER_END_S = 150.0


@frozen
class NodeVerdict:
    """Reasons are in CamelCase; they and the messages are those of the two conditions. ``quarantine``: such a reason, too, "" where none of
    its checks fails. ``own_fault``: it is unknown only because checks or readers of hostagent fail, perhaps on all hosts alike.
    ``is_held``: the daemon still publishes an earlier verdict than its last pass measured. ``has_gpus``: False where no GPU is seen and no
    driver is loaded.
    """

    single: Verdict
    multi: Verdict
    single_reason: str
    multi_reason: str
    headline: str
    step: str
    coverage: str
    fabric_class: str
    quarantine: str
    observed_at: float
    valid_until: float
    author: Author
    own_fault: bool = False
    single_message: str = ""
    multi_message: str = ""
    is_held: bool = False
    has_gpus: bool = True

    def word(self, scope: Scope) -> Verdict:
        return self.single if scope == "single" else self.multi

    def reason(self, scope: Scope) -> str:
        return self.single_reason if scope == "single" else self.multi_reason

    def headline_and_step(self, scope: Scope) -> tuple[str, str]:
        """Where the host's headline is of another fault than the one that counts in this scope, the message of the
        condition instead, which has the steps in it.
        """
        message = self.single_message if scope == "single" else self.multi_message
        return (message, "") if message and not message.startswith(self.headline) else (self.headline, self.step)

    def is_placeable(self, scope: Scope) -> bool:
        return self.word(scope) in PLACEABLE


def fresh(state_dir: str, node: str, boot_id: "str | None", now: float) -> NodeVerdict | None:
    """The newer of the daemon's verdict and our own programs'; None where neither is of this boot and still valid. `boot_id`: of a
    recording; None is this machine's.
    """
    found = (of_watching_daemon(state_dir, boot_id, now), of_programs(state_dir, node, boot_id, now))
    return max((one for one in found if one), key=lambda one: one.observed_at, default=None)


def of_watching_daemon(state_dir: str, boot_id: "str | None", now: float) -> NodeVerdict | None:
    """`of_daemon`, but None where that daemon has ended some time ago."""
    found = of_daemon(state_dir, boot_id, now)
    if not found or now - found.observed_at <= _AFTER_END_S:
        return found
    try:
        return found if daemon_lock.is_held(state_dir) else None
    except OSError:  # it cannot be seen
        return found


def of_daemon(state_dir: str, boot_id: "str | None", now: float) -> NodeVerdict | None:
    """None also where it does not know the node yet, or has no recent verdict."""
    found = state.read(os.path.join(state_dir, os.path.basename(state.PATH)), now, boot_id=boot_id)
    if found.problem or not found.is_daemons:
        return None
    if not _has_conditions(found.data) or any(one["id"] == OF_SLURMD for one in found.data["reasons"]):
        return None
    verdict = parsed(found.data)
    return None if _NOT_YET & {verdict.single_reason, verdict.multi_reason} else verdict


def of_programs(state_dir: str, node: str, boot_id: "str | None", now: float) -> NodeVerdict | None:
    """What health, prolog or epilog of this node left."""
    found = state.read(os.path.join(state_dir, FOLDER, VERDICT), now, boot_id=boot_id)
    written = found.data.get("slurm")
    if found.problem or not isinstance(written, Mapping) or written.get("node") != node or written.get("author") not in _AUTHORS:
        return None
    return parsed(found.data) if _has_conditions(found.data) else None


def _has_conditions(data: Mapping[str, Any]) -> bool:
    return set(CONDITIONS) <= {one["type"] for one in data.get("conditions", ())}


def parsed(data: Mapping[str, Any]) -> NodeVerdict:
    """A state document with both conditions: the daemon's, or our own programs'."""
    conditions = {one["type"]: one for one in data["conditions"]}
    single, multi, verdict = *(conditions[kind] for kind in CONDITIONS), data["verdict"]
    return NodeVerdict(
        single=verdict["single_node"],
        multi=verdict["multi_node"],
        single_reason=single["reason"],
        multi_reason=multi["reason"],
        headline=data.get("headline", ""),
        step=next(iter(data.get("todo", ())), ""),
        coverage=data.get("coverage", ""),
        fabric_class=data.get("fabric_class", ""),
        quarantine=data.get("quarantine", ""),
        observed_at=float(data["observed_at"]),
        valid_until=float(data["valid_until"]),
        author=data.get("slurm", {}).get("author", "daemon"),
        own_fault=is_own_fault(data["reasons"]),
        single_message=single["message"],
        multi_message=multi["message"],
        is_held=data.get("measured", verdict) != verdict,
        has_gpus=data.get("has_gpus", True),
    )


def is_own_fault(reasons: Iterable[Mapping[str, str]]) -> bool:
    """Of the reasons of a state document: whether every critical check without an answer crashed or had no end, or its reader crashed."""
    unknown = [one for one in reasons if (one["severity"], one["outcome"]) == ("critical", "unknown")]
    return bool(unknown) and all(_CRASHED.search(one["message"]) for one in unknown)


def keep(spool: Spool, document: Mapping[str, Any]) -> NodeVerdict:
    """Leave the verdict of a check for the next program, unless the epilog has found a fault since the check began. Returns the one that
    counts. `document`: as `parsed` takes it. Raises ``OSError``.
    """
    other = of_programs(os.path.dirname(spool.folder), spool.node, document["boot_id"], time.time())
    if other and other.author == "epilog" and other.observed_at >= document["observed_at"]:
        return other
    spool.save_verdict(json.dumps(document, indent=1) + "\n")
    return parsed(document)
