"""HealthCheckProgram: drains a node that is not ready, and resumes it when its fault has gone. Settings of others stay."""

# Slurm has no compare-and-set: a person's drain between our read and write is overwritten, some milliseconds; the node is read
# again and the log says so. A refusal counts once; a check that began before one resumes nothing. A dead daemon's verdict counts
# for 150 s: two intervals and a deadline.

import json
import re
import time
from collections.abc import Callable
from typing import NamedTuple

from hostagent.core import lockfile
from hostagent.core.smallfile import reason
from hostagent.slurm import reason as texts
from hostagent.slurm.client import Cluster, SlurmError, shown
from hostagent.slurm.node import Node, is_out, may_resume, must_not_be_written
from hostagent.slurm.programs.logline import log_line
from hostagent.slurm.programs.spool import Marker, Spool
from hostagent.slurm.programs.verdict import NodeVerdict, Scope

#: What Slurm writes for a program that refused, and how far from our refusal its time may be.
_SLURMS = re.compile(r"(prolog|epilog) error", re.IGNORECASE)
_BEFORE_S, _AFTER_S = 60.0, 2.0
#: Seconds that slurmctld has to drain a node after our refusal. If the node is in service later, the refusal counts no more.
_DRAINS_S = 5.0
#: Two runs in a row find a node unknown within two intervals and this many seconds.
_SLACK_S = 1.0
#: What RESUME of a node that is not drained answers.
_NOT_DRAINED = "Invalid node state specified"


class Decision(NamedTuple):
    """``update``: what `scontrol update` is given, {} for nothing. ``why``: a sentence. ``is_own``: the present reason is hostagent's."""

    update: dict[str, str]
    why: str
    is_own: bool


class Past(NamedTuple):
    """What the node's files keep of earlier runs. ``written``: the reason that was written last, "" where that is not known; ``stale_at``:
    the time of a reason of ours that Slurm has kept of a node in service, 0 for none.
    """

    refusals: tuple[Marker, ...] = ()
    written: str = ""
    stale_at: float = 0.0


class Run(NamedTuple):
    """``verdict``: the known verdict of the node, or one of a new check. ``interval_s``: between two runs. ``is_dry``: nothing is written,
    and ``report`` gets what would be written.
    """

    spool: Spool
    scope: Scope
    cluster: Cluster
    verdict: Callable[[], NodeVerdict]
    interval_s: Callable[[], float]
    is_dry: bool = False
    report: Callable[[str], None] = log_line


def decide(node: Node, verdict: NodeVerdict, past: Past, scope: Scope) -> Decision:
    """What to write to a node. A verdict *unknown* counts as not ready: the caller has seen it twice.

    Slurm 24.11 keeps the reason of a node that it resumes. If slurmctld then drains it for a reason of its own, that text and time stay.
    """
    if must_not_be_written(node.states):
        why = f"nothing is written while its state is {'+'.join(sorted(node.states))}"
        return Decision({}, why, texts.is_ours(node.reason))
    is_stale = bool(past.stale_at) and node.reason_at == past.stale_at
    is_own = (texts.is_ours(node.reason) and not is_stale) or _is_of_our_refusal(node, past.refusals)
    if not verdict.has_gpus and "gpu" not in node.gres:
        return Decision(*_of_health(node, is_own=is_own, what="has no GPU, and Slurm gives it none"), is_own)
    if not verdict.is_placeable(scope):
        state, why = _of_fault(node, verdict, scope, is_own=is_own, written=past.written)
    elif is_own and any(one.at > verdict.observed_at for one in past.refusals):
        state, why = {}, "it is placeable by a look that is older than a refusal: the next run decides"
    else:
        state, why = _of_health(node, is_own=is_own)
    return Decision({**state, **_comment_and_extra(node, verdict, scope)}, why, is_own)


def _of_fault(node: Node, verdict: NodeVerdict, scope: Scope, *, is_own: bool, written: str) -> tuple[dict[str, str], str]:
    wanted = texts.reason_text(verdict.reason(scope), *verdict.headline_and_step(scope))
    word = verdict.word(scope).replace("_", " ")
    if not is_out(node):
        return {"State": "DRAIN", "Reason": wanted}, f"it is {word}: drain"
    if not is_own:
        return {}, f"it is {word}, and out of service for a reason that is not hostagent's"
    is_same = verdict.is_held and node.reason.startswith(texts.reason_text(f"{verdict.reason(scope)}:", "", ""))
    if node.reason.startswith(wanted) or is_same:
        return {}, f"it is {word}, and its reason says so"
    if written == wanted and texts.is_ours(node.reason):
        return {}, f"it is {word}, and its reason was edited since"
    return {"Reason": wanted}, f"it is {word}, for another reason than before"


def _of_health(node: Node, *, is_own: bool, what: str = "is placeable") -> tuple[dict[str, str], str]:
    if not is_out(node):
        return {}, f"it {what}, and is in service"
    if not is_own:
        return {}, f"it {what}, and is out of service for a reason that is not hostagent's"
    if not may_resume(node):
        return {}, f"it {what}; its state {'+'.join(sorted(node.states))} stays"
    return {"State": "RESUME"}, f"it {what}: resume"


def _is_of_our_refusal(node: Node, markers: tuple[Marker, ...]) -> bool:
    found = _SLURMS.fullmatch(node.reason.strip())
    if not found or not node.reason_at:
        return False
    program = found[1].lower()
    return any(one.program == program and -_BEFORE_S <= one.at - node.reason_at <= _AFTER_S for one in markers)


def _comment_and_extra(node: Node, verdict: NodeVerdict, scope: Scope) -> dict[str, str]:
    """Comment and Extra, where they change and are empty or hostagent's. What could not be read removes no comment."""
    found, comment = dict[str, str](), texts.comment_text(verdict.quarantine)
    is_ours = not node.comment or texts.is_our_comment(node.comment)
    if is_ours and comment != node.comment and (comment or verdict.word(scope) != "unknown"):
        found["Comment"] = comment
    extra = texts.extra_text(
        is_placeable=verdict.is_placeable(scope),
        is_multi=verdict.is_placeable("multi"),
        fabric_class=verdict.fabric_class,
        coverage=verdict.coverage,
    )
    written = texts.our_extra(node.extra)
    if not node.extra or (written is not None and written != json.loads(extra)):
        found["Extra"] = extra
    return found


def run(work: Run) -> None:
    """One run, with the node's lock. Raises ``OSError`` where that cannot be taken, ``SlurmError``, and as ``work.verdict`` does."""
    if work.is_dry:
        _locked(work)
        return
    try:
        with work.spool.lock():
            _locked(work)
    except lockfile.LockTimeoutError:
        return  # another run is at it


def _locked(work: Run) -> None:
    verdict, now = work.verdict(), time.time()
    if work.is_dry:
        by = "by the daemon" if verdict.author == "daemon" else "by our epilog" if verdict.author == "epilog" else "by a check now"
        work.report(f"{work.spool.node}: {verdict.word(work.scope).replace('_', ' ')}, {by}")
    if verdict.word(work.scope) == "unknown" and verdict.own_fault:
        work.report(f"{work.spool.node}: nothing is written to Slurm: checks of hostagent itself failed, see 'hostagent check -v'")
        return
    if not _is_certain(work, verdict, now):
        work.report(f"{work.spool.node} is unknown: nothing is written unless the next run finds it so, too")
        return
    node = work.cluster.show(work.spool.node)
    if not work.is_dry:
        _note_in_service(work.spool, node, now)
    refusals = tuple(one for one in work.spool.markers() if one.at <= now + _SLACK_S)  # a clock that was set back makes later ones
    past = Past(refusals, work.spool.written_reason(), work.spool.stale_at())
    decision = decide(node, verdict, past, work.scope)
    if work.is_dry:
        work.report(_owner(node, is_own=decision.is_own))
        would = f"would write {shown(decision.update)}" if decision.update else "nothing would be written"
        work.report(f"{node.name}: {decision.why}: {would}")
        return
    if not decision.update:
        return
    try:
        work.spool.note_update(now, decision.update, is_made=False)
    except OSError as error:
        log_line(f"{node.name}: nothing is written to Slurm, because {work.spool.folder} cannot be written: {reason(error)}")
        return
    _write(work, node, decision)


def _is_certain(work: Run, verdict: NodeVerdict, now: float) -> bool:
    """Whether it says more than *unknown*, or the run before has found the same."""
    if verdict.word(work.scope) != "unknown":
        if not work.is_dry:
            work.spool.clear_unknown()
        return True
    before = work.spool.unknown_at()
    if not work.is_dry:
        work.spool.note_unknown(now)
    return bool(before) and 0 <= now - before <= 2 * work.interval_s() + _SLACK_S


def _note_in_service(spool: Spool, node: Node, now: float) -> None:
    if is_out(node):
        return
    spool.drop_markers(now - _DRAINS_S)
    if texts.is_ours(node.reason) and node.reason_at != spool.stale_at():
        spool.note_stale(node.reason_at)


def _write(work: Run, node: Node, decision: Decision) -> None:
    """Read it again afterwards: a person may have changed it at the same moment, and Slurm has no compare and set."""
    try:
        work.cluster.update(node.name, decision.update)
    except SlurmError as error:
        if _NOT_DRAINED in str(error) and decision.update.get("State") == "RESUME":
            return
        raise
    log_line(f"{node.name}: {decision.why}: {shown(decision.update)}")
    work.spool.note_update(time.time(), decision.update, is_made=True)
    if decision.is_own and not texts.is_ours(node.reason) and {"State", "Reason"} & set(decision.update):
        work.spool.drop_markers(node.reason_at + _AFTER_S)
    after = work.cluster.show(node.name)
    _note_in_service(work.spool, after, time.time())
    wanted = decision.update.get("Reason", "")
    if after.reason == node.reason and not is_out(after):
        return  # it is in service, and its reason kept
    if after.reason != wanted and (wanted or "State" in decision.update):
        log_line(f"{node.name}: its reason is now {after.reason!r}, not what was written: it was changed at the same moment")


def _owner(node: Node, *, is_own: bool) -> str:
    kind = "our" if is_own else "not our"
    reason_now = f"{kind} reason {node.reason!r}" if node.reason else "no reason"
    return f"{node.name}: {'+'.join(sorted(node.states))}, {reason_now}{f' of {node.reason_by}' if node.reason_by else ''}"
