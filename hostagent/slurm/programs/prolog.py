"""Whether a job may start on this node: by a fresh verdict, else by one check. It runs no command of Slurm.

Slurm drains a node with a failing prolog, and holds the job or queues it again. So a refusal needs a finding about this node: where
hostagent itself fails, the site decides (``--on-own-fault``).
"""

# Python exits 1 where it cannot start, a shell 127 where a program is missing, and Slurm drains for each: only a refusal has its
# own code (--refusal-code), which the wrappers let through. `Prolog error` has no author: it is ours where a prolog left a record
# of its refusal at that time.

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hostagent.core.errors import HostagentError, OutOfTime
from hostagent.engine.report import PLACEABLE
from hostagent.slurm.programs.spool import Spool

if TYPE_CHECKING:
    from hostagent.slurm.programs.verdict import NodeVerdict, Scope

Choice = Literal["allow", "refuse"]
#: What the environment of a prolog names: the job, how many nodes it has, and its GPUs here.
JOB_ID, JOB_NODES, JOB_GPUS = "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "SLURM_JOB_GPUS"


class Rules(NamedTuple):
    """``scope``: the verdict that counts; ``asks_gpus``: whether Slurm gives GPUs to the job."""

    scope: "Scope"
    asks_gpus: bool
    on_unknown: Choice = "refuse"
    on_own_fault: Choice = "allow"


class Answer(NamedTuple):
    """``line``: for the administrator, "" for nothing to say. ``reason``: of a refusal."""

    is_refused: bool
    line: str = ""
    reason: str = ""


ALLOWED = Answer(is_refused=False)


def scope_of(asked: str, environment: Mapping[str, str]) -> "Scope":
    """`asked`: auto, single, multi. A job with an unknown number of nodes has one.

    >>> scope_of("auto", {"SLURM_JOB_NUM_NODES": "2"}), scope_of("auto", {"SLURM_JOB_NUM_NODES": "1"}), scope_of("auto", {})
    ('multi', 'single', 'single')
    """
    if asked == "auto":
        nodes = environment.get(JOB_NODES, "")
        return "multi" if nodes.isascii() and nodes.isdecimal() and int(nodes) > 1 else "single"
    return "multi" if asked == "multi" else "single"


def answer(known: "NodeVerdict | None", check: Callable[[], dict[str, Any]], rules: Rules, spool: Spool | None) -> Answer:
    """`known`: the fresh verdict; `check`: one check, see `hostcheck`; `spool`: where its verdict is left."""
    if known and (found := _by(known, rules)):
        return found
    try:
        document = check()
    except HostagentError as error:
        return _own_fault(str(error), rules)
    except OutOfTime:
        return _unknown("CheckTimeout", "the check did not end in time", rules)
    from hostagent.slurm.programs.verdict import keep, parsed

    verdict = parsed(document)
    if found := _by(verdict, rules):
        if spool:
            with contextlib.suppress(OSError):
                keep(spool, document)
        return found
    code, (headline, step) = verdict.reason(rules.scope), verdict.headline_and_step(rules.scope)
    if verdict.own_fault:
        return _own_fault(f"checks or readers crashed ({headline or code})", rules)
    return _unknown(code, headline or "the host could not be judged", rules, step)


def _by(verdict: "NodeVerdict", rules: Rules) -> Answer | None:
    """None for a verdict that does not decide."""
    word = verdict.word(rules.scope)
    if word in PLACEABLE or not (verdict.has_gpus or rules.asks_gpus):
        return ALLOWED
    return None if word == "unknown" else _refused(verdict.reason(rules.scope), *verdict.headline_and_step(rules.scope))


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


def note_begin(spool: Spool, job: str) -> str:
    """For the epilog. Why it cannot, "" where it can."""
    try:
        spool.note_job(job, time.time())
    except (OSError, ValueError) as error:
        return f"the begin of the job is not noted: {error}"
    return ""
