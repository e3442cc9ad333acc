"""Whether a job may start on this node: by a fresh verdict, else by one check. It runs no command of Slurm.

Slurm drains a node whose prolog fails, and holds the job or queues it again. So a refusal needs a finding about this node: where hostagent
itself is what fails, the site says what happens (``--on-own-fault``).
"""

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from hostagent.errors import HostagentError, OutOfTime
from hostagent.report import PLACEABLE
from hostagent.slurm.spool import Marker, Spool

if TYPE_CHECKING:
    from hostagent.slurm.judging import Judged
    from hostagent.slurm.verdict import NodeVerdict, Scope

Word = Literal["allow", "refuse"]
#: What the environment of a prolog names: the job, how many nodes it has, and its GPUs here.
JOB_ID, JOB_NODES, JOB_GPUS = "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "SLURM_JOB_GPUS"


class Rules(NamedTuple):
    """``scope``: the verdict that counts; ``asks_gpus``: whether Slurm gives GPUs to the job."""

    scope: "Scope"
    asks_gpus: bool
    on_unknown: Word = "refuse"
    on_own_fault: Word = "allow"


class Answer(NamedTuple):
    """``line``: for the administrator, "" for nothing to say. ``reason``: of a refusal."""

    is_refused: bool
    line: str = ""
    reason: str = ""


LET_IN = Answer(is_refused=False)


def scope_of(asked: str, environment: Mapping[str, str]) -> "Scope":
    """`asked`: auto, single, multi. A job whose number of nodes is not known has one.

    >>> scope_of("auto", {"SLURM_JOB_NUM_NODES": "2"}), scope_of("auto", {"SLURM_JOB_NUM_NODES": "1"}), scope_of("auto", {})
    ('multi', 'single', 'single')
    """
    if asked == "auto":
        nodes = environment.get(JOB_NODES, "")
        return "multi" if nodes.isascii() and nodes.isdecimal() and int(nodes) > 1 else "single"
    return "multi" if asked == "multi" else "single"


def answer(known: "NodeVerdict | None", look: "Callable[[], Judged]", rules: Rules, spool: Spool | None) -> Answer:
    """`known`: the fresh verdict; `look`: one check, which `hostagent.slurm.judging` describes; `spool`: where its verdict is left."""
    if known and (found := _by(known, rules)):
        return found
    try:
        judged = look()
    except HostagentError as error:
        return _own_fault(str(error), rules)
    except OutOfTime:
        return _unknown("CheckTimeout", "the check did not end in time", rules)
    verdict = judged.verdict
    if found := _by(verdict, rules):
        if spool:
            from hostagent.slurm.verdict import keep

            with contextlib.suppress(OSError):
                keep(spool, verdict, judged.text)
        return found
    code, (headline, step) = verdict.reason(rules.scope), verdict.said(rules.scope)
    if verdict.own_fault:
        return _own_fault(f"checks or readers crashed ({headline or code})", rules)
    return _unknown(code, headline or "the host could not be judged", rules, step)


def _by(verdict: "NodeVerdict", rules: Rules) -> Answer | None:
    """None for a verdict that does not decide."""
    word = verdict.word(rules.scope)
    if word in PLACEABLE or not (verdict.has_gpus or rules.asks_gpus):
        return LET_IN
    return None if word == "unknown" else _refused(verdict.reason(rules.scope), *verdict.said(rules.scope))


def _refused(code: str, headline: str, step: str) -> Answer:
    from hostagent.slurm.reason import PREFIX, reason_text

    reason = reason_text(code, headline, step)
    return Answer(is_refused=True, line=f"refused: {reason.removeprefix(PREFIX).strip()}", reason=reason)


def _unknown(code: str, headline: str, rules: Rules, step: str = "") -> Answer:
    if rules.on_unknown == "refuse":
        return _refused(code, headline, step)
    return Answer(is_refused=False, line=f"let in (--on-unknown allow): {code}: {headline}")


def _own_fault(why: str, rules: Rules) -> Answer:
    if rules.on_own_fault == "refuse":
        return _refused("OwnFault", why, "")
    return Answer(is_refused=False, line=f"let in (--on-own-fault allow), hostagent itself failed: {why}")


def opened(state_dir: str, node: str) -> tuple[Spool | None, str]:
    """The node's files, and why none can be written ("" where they can)."""
    from hostagent.smallfile import reason

    try:
        return Spool.open(state_dir, node), ""
    except OSError as error:
        return None, f"cannot write below {state_dir}: {reason(error)}"


def note_begin(spool: Spool, job: str) -> str:
    """For the epilog. Why it cannot, "" where it can."""
    try:
        spool.note_job(job, time.time())
    except (OSError, ValueError) as error:
        return f"the begin of the job is not noted: {error}"
    return ""


def mark(spool: Spool | None, program: Literal["prolog", "epilog"], reason: str) -> str:
    """Leave the proof that this refusal is ours: Slurm's own reason will be "Prolog error". Why it cannot be left, "" where it can."""
    if not spool:
        return "no marker is left of this refusal"
    try:
        spool.add_marker(Marker(time.time(), program, reason))
    except OSError as error:
        return f"no marker is left of this refusal: {error}"
    return ""
