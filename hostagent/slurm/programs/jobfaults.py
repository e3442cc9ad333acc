"""Host faults of a job's GPUs in the job's time, by the kernel log and the daemon's record. Pure.

The catalogue's own checks of the kernel log judge it once with the lines of the job's time, and once without any: what fails for those
lines alone, and is critical by the profile, is a fault of the job's time. Lines count also where a reset or a new load of the driver has
ended them since: the job met them all the same.

The kernel stamps its log by a clock of its own that no time server corrects: over weeks it drifts against the wall clock by seconds. So a
line counts from `SLACK_S` before the job's begin on. A line without a time is no evidence.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from hostagent.core.steps import Step
from hostagent.core.unread import Unread
from hostagent.daemon.record import Fault, Record
from hostagent.engine.check import Check
from hostagent.engine.evaluate import judge_each
from hostagent.engine.report import Judgement
from hostagent.engine.report.node_status import camel_case
from hostagent.engine.report.remediation_plan import DRAIN, to_do
from hostagent.facts.cpulist import parse_cpulist
from hostagent.facts.gpu import Gpu, GpuEvents, Xid
from hostagent.facts.hostfacts import HostFacts
from hostagent.profiles.profile import Profile

#: Seconds before the job's begin from which a line of the kernel log counts.
SLACK_S = 1.0
#: Families of GPU faults in the record; a switch carries the traffic of all GPUs.
_GPU, _SWITCH = "gpu", "nvswitch"


class Window(NamedTuple):
    """A job's time and GPUs. `begin`: seconds since the epoch; `gpus`: PCI addresses, None for all GPUs of the host."""

    begin: float
    gpus: frozenset[str] | None


class HostFault(NamedTuple):
    """As a verdict says it: the reason (GpuXid), the headline, the first step."""

    reason: str
    headline: str
    step: str


def addresses(numbers: str, gpus: Iterable[Gpu]) -> frozenset[str] | None:
    """PCI addresses of the GPUs that Slurm names by minor number (``0,1`` or ``0-3``). None where one of them cannot be mapped: it has
    gone, or its number is that of a MIG device.
    """
    by_minor: Mapping[int, Gpu] = {one.minor: one for one in gpus if not isinstance(one.minor, Unread)}
    try:
        wanted = parse_cpulist(numbers)
    except ValueError:
        return None
    found = [by_minor[number] for number in wanted if number in by_minor]
    if not wanted or len(found) < len(wanted) or any(not isinstance(one.mig, Unread) and one.mig.current for one in found):
        return None
    return frozenset(one.pci for one in found)


def of_log(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Those that read what the kernel log says of GPUs and NVSwitches."""
    return tuple(one for one in checks if GpuEvents in one.inputs.kinds)


def logged(checks: Iterable[Check], facts: HostFacts, profile: Profile, window: Window, booted_at: float) -> Iterator[HostFault]:
    """Of the kernel log, the oldest first. `checks`: those `of_log`; `booted_at`: seconds since the epoch."""
    events, chosen = facts.of(GpuEvents), tuple(checks)
    if isinstance(events, Unread):
        return
    xids = [one for one in _rows(events.xids) if _is_of(window, one.pci) and _is_in(window, one, booted_at)]
    sxids = [one for one in _rows(events.sxids) if _is_in(window, one, booted_at)]
    empty = replace(events, xids=(), sxids=(), init_failures=())
    of_job = replace(empty, xids=tuple(map(_going_on, xids)), sxids=tuple(map(_going_on, sxids)))
    before = _critical(chosen, facts.replaced(GpuEvents, empty), profile)
    for key, one in _critical(chosen, facts.replaced(GpuEvents, of_job), profile).items():
        if key not in before:
            yield HostFault(camel_case(one.id), one.headline or one.message, _first(one.remedy))


def recorded(checks: Iterable[Check], record: Record, events: "GpuEvents | Unread", window: Window) -> Iterator[HostFault]:
    """Of the daemon's record, the oldest first: faults that a pass found first in the job's time. Where the kernel log still has lines of
    a device, it knows better when that was: a finding of one of `checks` counts by the log alone.
    """
    rows = () if isinstance(events, Unread) else (*_rows(events.xids), *_rows(events.sxids))
    in_log, by_log = {one.pci for one in rows}, {one.id for one in checks}
    for one in record.faults:
        if one.begin >= window.begin and _concerns(window, one) and not (one.id in by_log and one.pci in in_log):
            yield HostFault(camel_case(one.id), one.headline or f"{one.id} failed", DRAIN.text)


def _critical(checks: tuple[Check, ...], facts: HostFacts, profile: Profile) -> dict[tuple[str, str, str], Judgement]:
    judged = judge_each(checks, facts, profile)
    return {
        (one.id, one.subject, one.code): one
        for rows in judged.values()
        for one in rows
        if (one.outcome, one.severity, one.axis) == ("fail", "critical", "fitness")
    }


def _rows(found: "tuple[Xid, ...] | Unread") -> tuple[Xid, ...]:
    return () if isinstance(found, Unread) else found


def _going_on(one: Xid) -> Xid:
    """As in the job's time. An administrator's acknowledgement is no end."""
    return one if one.ended_by == "cleared" else replace(one, ended_by="")


def _concerns(window: Window, one: Fault) -> bool:
    family = one.id.partition(".")[0]
    return family == _SWITCH or (family == _GPU and _is_of(window, one.pci))


def _is_of(window: Window, pci: str) -> bool:
    """What names no GPU may be about any."""
    return window.gpus is None or not pci or pci in window.gpus


def _is_in(window: Window, one: Xid, booted_at: float) -> bool:
    """The newest line counts."""
    return not isinstance(one.seconds, Unread) and booted_at + one.seconds >= window.begin - SLACK_S


def _first(steps: tuple[Step, ...]) -> str:
    return next((step.text for step in to_do([steps]) if not step.if_back), "")
