"""What is known of a node without a new look: the daemon's state file, and the verdict that our own programs leave."""

import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from hostagent.facts.frozen import frozen
from hostagent.report import PLACEABLE, SCHEMA_VERSION, daemonlock, state
from hostagent.slurm.spool import FOLDER, VERDICT, Spool
from hostagent.vocabulary import Verdict

Scope = Literal["single", "multi"]
Author = Literal["daemon", "health", "prolog", "epilog"]
SCOPES: dict[Scope, tuple[str, str]] = {"single": ("single_node", "Ready"), "multi": ("multi_node", "MultiNodeReady")}
#: slurmd starts the programs, so it runs, whatever an earlier look has found.
OF_SLURMD = "slurm.slurmd_running"
#: Reasons with which a daemon says that it does not know.
_NOT_YET = ("AgentStale", "FirstPass")
_AUTHORS = get_args(Author)
#: As `hostagent.evaluate`, `hostagent.collect` and `hostagent.forked` say it.
_CRASHED = re.compile(r"(?:^the check|\breading \w+|\bthe (?:reading process|worker)) crashed: |^not judged \(timeout: ")
#: Seconds for which the verdict of a daemon that no longer runs is taken: two of its intervals and a deadline, as it is by default. Later
#: it would be silent about what has happened since.
_AFTER_END_S = 150.0


@frozen
class NodeVerdict:
    """Reasons are in CamelCase; they and the messages are those of the two conditions. ``quarantine``: such a reason, too, "" where none of
    its checks fails. ``own_fault``: it is unknown only because checks or readers of hostagent fail, perhaps on all hosts alike.
    ``is_held``: a daemon's, of an earlier pass than its last one. ``has_gpus``: False for a host for other jobs.
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

    def said(self, scope: Scope) -> tuple[str, str]:
        """Headline and first step. Where the host's headline is of another fault than the one that counts in this scope, the message of the
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
    found = (of_daemon(state_dir, boot_id, now), of_programs(state_dir, node, boot_id, now))
    return max((one for one in found if one), key=lambda one: one.observed_at, default=None)


def of_watching_daemon(state_dir: str, boot_id: "str | None", now: float) -> NodeVerdict | None:
    """`of_daemon`, but None where that daemon has ended some time ago."""
    found = of_daemon(state_dir, boot_id, now)
    if not found or now - found.observed_at <= _AFTER_END_S:
        return found
    try:
        return found if daemonlock.is_held(state_dir) else None
    except OSError:  # it cannot be seen
        return found


def of_daemon(state_dir: str, boot_id: "str | None", now: float) -> NodeVerdict | None:
    """None also where it does not know the node yet, or has heard nothing of it for long."""
    found = state.read(os.path.join(state_dir, os.path.basename(state.PATH)), now, boot_id=boot_id)
    if found.problem or not found.is_daemons:
        return None
    data = found.data
    reasons, messages = ({str(one["type"]): str(one[key]) for one in data["conditions"]} for key in ("reason", "message"))
    has_slurmd = any(one["id"] == OF_SLURMD for one in data["reasons"])
    if has_slurmd or any(reasons.get(kind, _NOT_YET[0]) in _NOT_YET for _, kind in SCOPES.values()):
        return None
    return _parsed(data, (reasons, messages), "daemon")


def of_programs(state_dir: str, node: str, boot_id: "str | None", now: float) -> NodeVerdict | None:
    """What health, prolog or epilog of this node left."""
    found = state.read(os.path.join(state_dir, FOLDER, VERDICT), now, boot_id=boot_id)
    written = found.data.get("slurm")
    if found.problem or not isinstance(written, Mapping) or written.get("node") != node or written.get("author") not in _AUTHORS:
        return None
    reasons, messages = written.get("reasons"), written.get("messages")
    if not (_are_texts(reasons) and _are_texts(messages)):
        return None
    return _parsed(found.data, (reasons, messages), written["author"])


def _are_texts(by_kind: Any) -> bool:
    return isinstance(by_kind, Mapping) and all(isinstance(by_kind.get(kind), str) for _, kind in SCOPES.values())


def _parsed(data: Mapping[str, Any], conditions: tuple[Any, Any], author: Author) -> NodeVerdict:
    """`conditions`: reasons and messages by type."""
    verdict, todo, (reasons, messages) = data["verdict"], data.get("todo", ()), conditions
    return NodeVerdict(
        single=verdict["single_node"],
        multi=verdict["multi_node"],
        single_reason=reasons["Ready"],
        multi_reason=reasons["MultiNodeReady"],
        headline=data.get("headline", ""),
        step=next(iter(todo), ""),
        coverage=data.get("coverage", ""),
        fabric_class=data.get("fabric_class", ""),
        quarantine=data.get("quarantine", ""),
        observed_at=float(data["observed_at"]),
        valid_until=float(data["valid_until"]),
        author=author,
        own_fault=is_own_fault(data["reasons"]),
        single_message=messages["Ready"],
        multi_message=messages["MultiNodeReady"],
        is_held=data.get("measured", verdict) != verdict,
        has_gpus=data.get("has_gpus", True),
    )


def is_own_fault(reasons: Iterable[Mapping[str, str]]) -> bool:
    """Of the reasons of a state document: whether every critical check without an answer crashed or had no end, or its reader crashed."""
    unknown = [one for one in reasons if (one["severity"], one["outcome"]) == ("critical", "unknown")]
    return bool(unknown) and all(_CRASHED.search(one["message"]) for one in unknown)


def document(found: NodeVerdict, node: str, boot_id: str, base: "Mapping[str, Any] | None" = None) -> dict[str, Any]:
    """The verdict file. `base`: the state document of the report that it is of, where there is one."""
    whole = dict(base or _bare())
    whole.update(
        observed_at=found.observed_at,
        valid_until=found.valid_until,
        boot_id=boot_id,
        verdict={"single_node": found.single, "multi_node": found.multi},
        coverage=found.coverage,
        headline=found.headline,
        todo=_todo(whole.get("todo", ()), found.step),
        quarantine=found.quarantine,
        fabric_class=found.fabric_class,
        has_gpus=found.has_gpus,
        slurm={
            "node": node,
            "author": found.author,
            "reasons": {"Ready": found.single_reason, "MultiNodeReady": found.multi_reason},
            "messages": {"Ready": found.single_message, "MultiNodeReady": found.multi_message},
        },
    )
    return whole


def keep(spool: Spool, found: NodeVerdict, text: str) -> NodeVerdict:
    """Leave the verdict of a check for the next program, unless the epilog has found a fault since the check began. Returns the one that
    counts. `text`: its file. Raises ``OSError``.
    """
    other = of_programs(os.path.dirname(spool.folder), spool.node, json.loads(text)["boot_id"], time.time())
    if other and other.author == "epilog" and other.observed_at >= found.observed_at:
        return other
    spool.save_verdict(text)
    return found


def _todo(listed: Iterable[str], step: str) -> list[str]:
    steps = list(listed)
    return steps if steps[:1] == [step] else [step] if step else []


def _bare() -> dict[str, Any]:
    from hostagent import __version__

    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "hostagent", "version": __version__},
        "profile": {"name": "", "hash": ""},
        "action": "none",
        "reasons": [],
    }
