"""Whether the host failed a job: a fault of the job's GPUs in the job's time, and nothing else. It runs no command of Slurm.

A failing epilog drains its node, and with ``enable_expedited_requeue`` (Slurm 25.11) it runs a failed batch job again at once, elsewhere:
the exit code decides about the job. So what is unknown, or degrades a host only, or was so before the job, counts for nothing.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hostagent import __version__
from hostagent.core.unread import Unread
from hostagent.daemon import record
from hostagent.engine.collect import HEAD
from hostagent.engine.pipeline import Prepared, policy_of
from hostagent.engine.report import SCHEMA_VERSION
from hostagent.engine.target import Evidence, open_host
from hostagent.facts.gpu import Gpu, GpuEvents
from hostagent.facts.host import Identity
from hostagent.slurm.programs import jobfaults
from hostagent.slurm.programs.spool import Spool
from hostagent.slurm.programs.verdict import CONDITIONS, NodeVerdict

#: Of the environment of an epilog: the job's begin, which Slurm 22.05 does not name.
JOB_BEGIN = "SLURM_JOB_START_TIME"
#: Seconds by which two clocks, or one that is adjusted, may differ.
_CLOCK_S = 5.0


class Look(NamedTuple):
    """``gap``: why the kernel log could not be used, "" where it could."""

    faults: tuple[jobfaults.HostFault, ...]
    boot_id: str
    gap: str


def begin_of(spool: Spool, job: str, environment: Mapping[str, str]) -> float:
    """Seconds since the epoch: as our prolog noted it, else as Slurm says it; 0 where neither does, or where it is in the future."""
    try:
        noted = spool.job_began_at(job) if job else 0.0
        found = noted or float(environment.get(JOB_BEGIN, "") or 0)
    except ValueError:
        return 0.0
    return found if 0 < found <= time.time() + _CLOCK_S else 0.0


def look(place: Evidence, prepared: Prepared, begin: float, numbers: str, folders: Iterable[str]) -> Look:
    """`numbers`: the job's GPUs, "" for all; `folders`: where a daemon may keep its record. Raises ``HostagentError``."""
    checks = jobfaults.of_log(prepared.checks)
    kinds = (*HEAD, Gpu.__name__, *(kind.__name__ for one in checks for kind in one.inputs.kinds))
    with open_host(place, tuple(dict.fromkeys(kinds))) as reading:
        facts = reading.collect(policy_of(prepared)).facts
    identity, events, found = facts.of(Identity), facts.of(GpuEvents), facts.of(Gpu)
    gpus: tuple[Gpu, ...] = () if isinstance(found, Unread) else found
    asked = jobfaults.Window(begin, jobfaults.addresses(numbers, gpus) if numbers else None)
    booted_at, gap = _booted_at(identity, events)
    faults = [] if gap else list(jobfaults.logged(checks, facts, prepared.loaded.profile, asked, booted_at))
    for folder in folders:
        faults += jobfaults.recorded(checks, record.read(folder).record, events, asked)
    boot_id = "" if isinstance(identity, Unread) or isinstance(identity.boot_id, Unread) else identity.boot_id
    return Look(tuple(dict.fromkeys(faults)), boot_id, gap)


def _booted_at(identity: "Identity | Unread", events: "GpuEvents | Unread") -> tuple[float, str]:
    """By the host's clock, and why that is not known."""
    now = identity if isinstance(identity, Unread) else identity.now
    uptime = events if isinstance(events, Unread) else events.xids if isinstance(events.xids, Unread) else events.uptime
    if isinstance(now, Unread) or isinstance(uptime, Unread):
        gap = next(one for one in (uptime, now) if isinstance(one, Unread))
        return 0.0, gap.detail or gap.why
    return now - uptime, ""


def document(fault: jobfaults.HostFault, known: NodeVerdict | None, node: str, boot_id: str, valid_for_s: float) -> dict[str, Any]:
    """Not ready, for the next programs. `known`: the fresh verdict, for what this one lacks."""
    now = time.time()
    message = f"{fault.headline}. {fault.step}".rstrip()
    conditions = [{"type": kind, "status": "False", "reason": fault.reason, "message": message} for kind in CONDITIONS]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "hostagent", "version": __version__},
        "observed_at": now,
        "valid_until": now + valid_for_s,
        "boot_id": boot_id,
        "profile": {"name": "", "hash": ""},
        "verdict": {"single_node": "not_ready", "multi_node": "not_ready"},
        "coverage": known.coverage if known else "",
        "headline": fault.headline,
        "action": "drain_and_inspect",
        "todo": [fault.step] if fault.step else [],
        "reasons": [],
        "quarantine": known.quarantine if known else "",
        "fabric_class": known.fabric_class if known else "",
        "has_gpus": True,
        "conditions": conditions,
        "slurm": {"node": node, "author": "epilog"},
    }
