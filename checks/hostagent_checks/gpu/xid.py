"""The driver logged a fault (Xid) of a GPU since the host was booted, and nothing has ended it.

The finding gives NVIDIA's meaning of the code and what to do. Faults after which the GPU cannot be trusted fail.
All other codes, documented or not, are warnings. What programs cause is listed by `gpu.xid_application`. A GPU that has gone
from PCI is named here all the same.

A fault is over when the driver says later that this GPU needs no recovery any more (an Xid 154 to "None", as after a reset), or when
its module was loaded again, and NVML lists the GPU now: `gpu.xid_ended` reports it. What only a new board ends is never over. The same
code on the same GPU after its end warns for a day. `ignore` in the profile takes codes that somebody has looked at.

What an administrator has cleared (`hostagent events clear`) no longer counts, and `gpu.faults_cleared` tells it; a later record counts
again. What only a new board ends is not cleared: with a new board comes a new boot.

An NVLink 5 fault (Xid 144 to 150) is read by NVIDIA's catalogue: unit, error status, Fatal or Nonfatal. A nonfatal one without an Xid 154
of its GPU warns for a day: the job starts again, the GPU goes on. What the hardware corrected is worth knowing. A burst of nonfatal ones
fails: one event writes a record or two for each of a GPU's 18 links, a GPU that writes a hundred within ten minutes does not get through
its jobs. Where an Xid 154 asks for a recovery action, it is the first step of every fault of that GPU. docs/xids.md has all codes.

A log that reaches back neither to the boot nor a day may have lost faults: it warns. A daemon that has watched the log for as long has
seen them, and remembers them.
"""

from collections.abc import Callable
from typing import NamedTuple

from hostagent.check import Finding, Findings, Severity, Step, Unread, check, fail, need, warn
from hostagent.core.tables.recovery_actions import GOES_ON
from hostagent.domains.gpu.faults import is_cleared, lost
from hostagent.domains.gpu.tables.xids import ENDED_BY_REPLACEMENT
from hostagent.domains.gpu.xid_lines import BURST_S, recovery_action
from hostagent.domains.gpu.xid_readings import JOB_AGAIN, STORM, XidReading, read_xid
from hostagent.facts.gpu import Gpu, GpuEvents, Xid
from hostagent.facts.history import History

from ._xids import KEEP_LOG, asked_by_driver, at, describe, end_of, is_over, logged


class Params(NamedTuple):
    """ignore: Xid codes that somebody has looked at and that no longer count, such as [79, 154]
    min_log_hours: hours; a log that begins after the boot and reaches back less than that warns
    again_hours: hours for which a fault that came back after it had ended still counts, and one that was nonfatal
    storm_lines: nonfatal lines of one code on one GPU within ten minutes that are no single event; one event writes up to two for each link
    storm_lines_node: the same of all GPUs together; an event that hits 18 links of 8 GPUs twice has 288
    """

    ignore: tuple[int, ...] = ()
    min_log_hours: float = 24.0
    again_hours: float = 24.0
    storm_lines: int = 100
    storm_lines_node: int = 300


class Fault(NamedTuple):
    """A fault that counts, and what it means."""

    xid: Xid
    reading: XidReading


_HOUR_S = 3600
_JOB_ENDED = 45
_COMES_BACK = (
    Step("drain_and_inspect", "Test the GPU.", command="dcgmi diag -r 3"),
    Step("contact_owner", "Ask the GPU's vendor.", if_back=True),
)


@check(
    title="The kernel log of this boot has no unresolved GPU fault",
    severity="critical",
    since="0.1",
    explains=("gpu",),
    because=("gpu.on_bus",),
    headline="{device} logged a fault: {found}",
    remedy=(Step("drain_and_inspect", "Look the code up in NVIDIA's Xid catalog, and follow it."),),
    references=("NVIDIA, Analyzing Xid Errors with the Xid Catalog", "NVSentinel issue 155", "NVIDIA/NVSentinel pull request 1240"),
    confirm=(
        "journalctl -k -g Xid",
        "nvidia-smi -q -i <address>",
    ),
)
def xid(events: GpuEvents, gpus: tuple[Gpu, ...], history: History | Unread, params: Params) -> Findings:
    counted = [one for one in logged(events, gpus, history) if not is_cleared(one, events) and one.code not in params.ignore]
    readings = [Fault(one, read_xid(one, gpus)) for one in counted]
    faults = [one for one in readings if one.reading.meaning.kind not in ("application", "notice")]
    going_on = [one for one in faults if not is_over(one.xid, gpus)]
    asked = asked_by_driver(one.xid for one in going_on)
    last_end: dict[tuple[str, int], Xid] = {}
    for one, reading in faults:
        is_new = _is_recent(one.seconds, events, params.again_hours)
        if not is_over(one, gpus):
            storm = _storm(one, going_on, params) if reading.is_nonfatal else 0
            is_lost = any(one is gone for gone in lost(history, "xid"))
            more = "; ".join((*_storm_text(storm), *_effects(one, counted), *(["the kernel log has lost it since"] if is_lost else [])))
            steps = STORM if storm and not reading.is_recovered and one.pci not in asked else _steps_of(one, reading, asked)
            headline = ", again and again" if storm else ": restart its job" if JOB_AGAIN in steps else ""
            yield describe(one, reading, _outcome(one, reading, storm), steps, more, headline, _at_most(reading, is_new, storm))
        else:
            if (one.pci, one.code) in last_end and is_new:
                yield describe(one, reading, warn, _COMES_BACK, f"it came back after it had ended once, and was {end_of(one)}")
            last_end[one.pci, one.code] = one
    if gpus and not need(events.log_complete) and not _reaches_back(events, history, params.min_log_hours):
        text = f"the kernel log is incomplete: it begins {at(events.log_oldest) or 'after the boot'}"
        wanted = f"from the boot on, or the last {params.min_log_hours:g} hours"
        yield warn(
            text,
            code="log-incomplete",
            found="incomplete",
            wanted=wanted,
            remedy=KEEP_LOG,
            headline="The kernel log no longer shows this whole boot: GPU faults may be lost",
        )


def _outcome(one: Xid, reading: XidReading, storm: int) -> Callable[..., Finding]:
    if storm and not reading.is_recovered:
        return fail
    return fail if reading.meaning.kind == "critical" and recovery_action(one) not in GOES_ON else warn


def _at_most(reading: XidReading, is_new: bool, storm: int) -> "Severity | None":
    """A nonfatal fault that hit no job, or the job of another day, is worth knowing."""
    return "info" if reading.is_nonfatal and not storm and (reading.is_recovered or not is_new) else None


def _storm_text(storm: int) -> tuple[str, ...]:
    return (f"a storm: {storm} lines within {BURST_S / 60:g} minutes",) if storm else ()


def _storm(one: Xid, going_on: list[Fault], params: Params) -> int:
    """Nonfatal lines that came together, where they are too many for one event; else 0."""
    burst = _burst(one)
    near = sum(_burst(other.xid) for other in going_on if other.reading.is_nonfatal and _is_near(one, other.xid))
    if burst >= params.storm_lines:
        return burst
    return near if near >= params.storm_lines_node else 0


def _burst(one: Xid) -> int:
    """Of a record without it, all lines where none has another time."""
    burst = 0 if isinstance(one.burst, Unread) else one.burst
    is_at_once = not isinstance(one.seconds, Unread) and not isinstance(one.first, Unread) and one.seconds - one.first <= BURST_S
    return burst or (one.count if is_at_once else 0)


def _is_near(one: Xid, other: Xid) -> bool:
    return isinstance(one.seconds, Unread) or isinstance(other.seconds, Unread) or abs(one.seconds - other.seconds) <= BURST_S


def _effects(one: Xid, counted: list[Xid]) -> list[str]:
    """The driver names the fault for which it ended a program."""
    cause = f"caused by previous Xid {one.code}"
    ended = any((other.pci, other.code) == (one.pci, _JOB_ENDED) and other.line.endswith(cause) for other in counted)
    return ["it ended a program (Xid 45)"] if ended else []


def _is_recent(seconds: "float | Unread", events: GpuEvents, hours: float) -> bool:
    """What has no time may be of just now."""
    if isinstance(seconds, Unread) or isinstance(events.uptime, Unread):
        return True
    return events.uptime - seconds < hours * _HOUR_S


def _reaches_back(events: GpuEvents, history: "History | Unread", hours: float) -> bool:
    if _has_watched(history, hours):
        return True
    if isinstance(events.log_oldest, Unread) or isinstance(events.uptime, Unread):
        return False
    return events.uptime - events.log_oldest >= hours * _HOUR_S


def _has_watched(history: "History | Unread", hours: float) -> bool:
    """The daemon has seen all of this boot, or of the last hours."""
    if isinstance(history, Unread) or isinstance(history.since, Unread) or isinstance(history.now, Unread):
        return False
    return history.since == 0 or history.now - history.since >= hours * _HOUR_S


def _steps_of(one: Xid, reading: XidReading, asked: "dict[str, Step]") -> tuple[Step, ...]:
    """NVIDIA's steps for the code and its line. An Xid 154 of the same GPU wins; what only a new board ends needs that board."""
    if one.pci not in asked or one.code in ENDED_BY_REPLACEMENT:
        return reading.meaning.action
    return (asked[one.pci], *(step for step in reading.meaning.action if step.if_back))
