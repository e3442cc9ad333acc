"""What the daemon remembers of this boot: a pure step from one pass to the next.

A fault that the kernel log has lost since goes on, until a later record of the log, or an administrator, ends it. Nothing grows without an
end: of each list some of the newest are kept.
"""

# A log that reaches back to a fault and does not have it is another log (a simulation): the fault is forgotten. Link downs are
# the state at each pass, and the card's own count between passes, spread evenly over the time between.

import json
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from hostagent.core.frozen import frozen
from hostagent.core.typed import plain
from hostagent.core.unread import Unread
from hostagent.daemon import kernel_history, statedir
from hostagent.domains.gpu.faults import covers, may_be_cleared
from hostagent.domains.gpu.xid_lines import worse_line
from hostagent.domains.network.tables.rdma_devices import UP
from hostagent.facts.gpu import Clearing, End, GpuEvents, Xid
from hostagent.facts.history import Fault, History, LinkDowns
from hostagent.facts.host import Identity
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kernel import Kernel
from hostagent.facts.kernel_words import KernelWords
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Topology

T = TypeVar("T")

#: Of each list so many.
FAULTS, PORTS, DOWNS, LOADS = 256, 256, 64, 64
_NOT_YET = Unread("not-supported", "no pass could read it in this boot")


@frozen
class PortState:
    """A port as the last pass that could read it saw it."""

    port: str
    up: bool | Unread
    downed: int | Unread  # `RdmaPort.link_downed`


@frozen
class Memory:
    """What ``history.json`` holds."""

    boot_id: str  # "" before the first pass
    history: History
    ports: tuple[PortState, ...]


class Loaded(NamedTuple):
    """What was read back, and why it is not what was written ("" when it is)."""

    memory: Memory
    problem: str


FRESH = Memory("", History(*[_NOT_YET] * 6), ())


def advance(memory: Memory, facts: HostFacts, now: float) -> Memory:
    """After a pass at `now`, seconds since the epoch. What belongs to another boot is forgotten."""
    boot_id = _field(facts, Identity, "boot_id")
    boot = memory.boot_id if isinstance(boot_id, Unread) else boot_id
    if memory.boot_id not in ("", boot):
        memory = FRESH
    before, events, ports = memory.history, facts.of(GpuEvents), facts.of(RdmaPort)
    booted_at = _field(facts, Kernel, "booted_at")
    at = before.now if isinstance(booted_at, Unread) else max(0.0, now - booted_at)
    ports = () if isinstance(ports, Unread) else ports
    log = None if isinstance(events, Unread) or isinstance(events.xids, Unread) or isinstance(events.sxids, Unread) else events
    history = History(
        since=_since(before, log, at),
        now=at,
        faults=before.faults if log is None else _faults(_known(before.faults), log),
        link_downs=_link_downs(before, memory.ports, ports, at),
        driver_loads=before.driver_loads if log is None else _loads(_known(before.driver_loads), log),
        kernel_events=kernel_history.advance(before.kernel_events, facts.of(KernelWords), facts.of(Topology)),
    )
    return Memory(boot, history, _port_states(memory.ports, ports))


def with_history(facts: HostFacts, memory: Memory) -> HostFacts:
    """The facts of a pass, with what is remembered in place of what one pass knows of it."""
    return facts.replaced(History, memory.history)


def dump(memory: Memory) -> str:
    """JSON for `load`."""
    return json.dumps(plain(memory)) + "\n"


def load(text: str, boot_id: str) -> Loaded:
    """What `dump` wrote in this boot. A damaged text is a fresh memory; one of another boot, too, and nothing is wrong with that."""
    kept = statedir.parsed(Memory, text, "history")
    return Loaded(kept.value if kept.value and kept.value.boot_id == boot_id else FRESH, kept.problem)


def _since(before: History, log: "GpuEvents | None", at: "float | Unread") -> "float | Unread":
    """From when on no fault can have been missed: from the boot on where the log reached back to it once, and has no gap since."""
    if log is None:
        return at if isinstance(before.since, Unread) else before.since
    if log.log_complete is True:
        return 0.0
    is_gap = isinstance(before.now, Unread) or isinstance(log.log_oldest, Unread) or log.log_oldest > before.now
    return at if is_gap or isinstance(before.since, Unread) else before.since


def _faults(before: tuple[Fault, ...], log: GpuEvents) -> tuple[Fault, ...]:
    logged = [Fault(kind, one, one.first, False) for kind, ones in (("xid", log.xids), ("sxid", log.sxids)) for one in _known(ones)]
    kept: list[Fault] = []
    for old in before:
        place = next((number for number, one in enumerate(logged) if _overlap(old, one)), None)
        known = old if place is not None else replace(old, xid=_ended(old, _known(log.ends), _known(log.cleared)))
        if place is None:
            place = next((number for number, one in enumerate(logged) if _goes_on(known, one)), None)
        if place is not None:
            logged[place] = _joined(known, logged[place])
        elif _is_lost(known, log):
            kept.append(replace(known, lost=True))
    return _bounded((*kept, *logged))


def _bounded(faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """What has ended goes first, the oldest of it first."""
    surplus = len(faults) - FAULTS
    if surplus <= 0:
        return faults
    order = sorted(range(len(faults)), key=lambda number: (not faults[number].xid.ended_by, number))
    gone = set(order[:surplus])
    return tuple(one for number, one in enumerate(faults) if number not in gone)


def _is_same_kind(old: Fault, new: Fault) -> bool:
    return (old.kind, old.xid.pci, old.xid.code) == (new.kind, new.xid.pci, new.xid.code)


def _overlap(old: Fault, new: Fault) -> bool:
    """Whether the newest record of `old` is still in the log."""
    if not _is_same_kind(old, new):
        return False
    last, first, newest = old.xid.seconds, new.xid.first, new.xid.seconds
    if isinstance(last, Unread) or isinstance(first, Unread) or isinstance(newest, Unread):
        return True  # a log without times has one of each
    return first <= last <= newest


def _goes_on(old: Fault, new: Fault) -> bool:
    """Whether the log's newer records belong to the same fault, though it has lost the older ones: nothing ended it in between."""
    return _is_same_kind(old, new) and not old.xid.ended_by


def _is_lost(old: Fault, log: GpuEvents) -> bool:
    """Whether the log no longer reaches back to it. Where it does and has it not, it is another log."""
    if log.log_complete is True:
        return False
    seconds, oldest = old.xid.seconds, log.log_oldest
    return isinstance(seconds, Unread) or isinstance(oldest, Unread) or seconds < oldest


def _joined(old: Fault, new: Fault) -> Fault:
    """The fault of the log, with first time and count of the records that the log has lost."""
    first, known, logged = new.first, old.xid.seconds, new.xid.first
    if not isinstance(old.first, Unread) and not isinstance(first, Unread):
        first = min(old.first, first)
    is_all_new = not isinstance(known, Unread) and not isinstance(logged, Unread) and logged > known
    count = old.xid.count + new.xid.count if is_all_new else max(old.xid.count, new.xid.count)
    links = tuple(sorted({*_links(old.xid), *_links(new.xid)}))
    burst = max((one for one in (old.xid.burst, new.xid.burst) if not isinstance(one, Unread)), default=0)
    line = worse_line(old.xid.line, new.xid.line, new.xid.code, new.kind)
    return Fault(new.kind, replace(new.xid, line=line, count=count, links=links, burst=burst), first, False)


def _links(one: Xid) -> tuple[int, ...]:
    return () if isinstance(one.links, Unread) else one.links


def _ended(old: Fault, ends: tuple[End, ...], cleared: tuple[Clearing, ...]) -> Xid:
    """The fault, ended by a later record of the log or by an administrator, where its own record has left the log."""
    one = old.xid
    if one.ended_by or isinstance(one.seconds, Unread):
        return one
    for end in ends:
        is_its = not end.pci or (end.pci == one.pci and old.kind == "xid")
        if is_its and not isinstance(end.at, Unread) and end.at >= one.seconds:
            return replace(one, ended_by=end.by, ended_at=end.at)
    for word in cleared:
        if covers(word, one) and may_be_cleared(one.code, old.kind):
            return replace(one, ended_by="cleared", ended_at=word.at)
    return one


def _loads(before: tuple[float, ...], log: GpuEvents) -> tuple[float, ...]:
    found = [end.at for end in _known(log.ends) if end.by == "load" and not isinstance(end.at, Unread)]
    oldest = log.log_oldest
    if log.log_complete is not True:
        found += [at for at in before if isinstance(oldest, Unread) or at < oldest]
    return tuple(sorted(set(found)))[-LOADS:]


def _link_downs(
    before: History, last_ports: tuple[PortState, ...], ports: tuple[RdmaPort, ...], at: "float | Unread"
) -> "tuple[LinkDowns, ...] | Unread":
    downs = {one.port: one.times for one in _known(before.link_downs) if one.times}
    if isinstance(at, Unread):
        return before.link_downs
    started = at if isinstance(before.now, Unread) else min(before.now, at)
    last = {one.port: one for one in last_ports}
    for port in ports:
        times = _times(last[port.name], port, started, at) if port.name in last else ()
        if times:
            downs[port.name] = (*downs.get(port.name, ()), *times)[-DOWNS:]
    newest = sorted(downs.items(), key=lambda row: row[1][-1])[-PORTS:]
    return tuple(LinkDowns(name, times) for name, times in sorted(newest))


def _times(last: PortState, port: RdmaPort, started: float, at: float) -> tuple[float, ...]:
    """When it went down since the last pass: the card's count spread evenly, since the times are not known."""
    grown = 0 if isinstance(last.downed, Unread) or isinstance(port.link_downed, Unread) else port.link_downed - last.downed
    went_down = last.up is True and not isinstance(port.state, Unread) and port.state not in UP
    count = min(max(grown, int(went_down)), DOWNS)
    return tuple(started + (at - started) * number / count for number in range(1, count + 1))


def _port_states(before: tuple[PortState, ...], ports: tuple[RdmaPort, ...]) -> tuple[PortState, ...]:
    """State of each port; a port that is gone or unread keeps its last one."""
    states = {one.port: one for one in before}
    for port in ports:
        old = states.pop(port.name, PortState(port.name, _NOT_YET, _NOT_YET))
        up = old.up if isinstance(port.state, Unread) else port.state in UP
        downed = old.downed if isinstance(port.link_downed, Unread) else port.link_downed
        states[port.name] = PortState(port.name, up, downed)
    return tuple(states.values())[-PORTS:]


def _field(facts: HostFacts, kind: type, name: str) -> Any:
    fact = facts.of(kind)
    return fact if isinstance(fact, Unread) else getattr(fact, name)


def _known(values: "tuple[T, ...] | Unread") -> tuple[T, ...]:
    return () if isinstance(values, Unread) else values
