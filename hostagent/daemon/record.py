"""The record over restarts and boots: each change of a condition's status, and when each critical fault began and ended.

Of each list the newest `MOST` are kept.
"""

# The numbers of Events go on for good, so one that was sent twice is one. Restarts, boots and silence are no special cases:
# statuses published last are compared with those now.

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from hostagent.core.frozen import frozen
from hostagent.core.typed import plain
from hostagent.daemon import statedir
from hostagent.engine.report import Report
from hostagent.engine.report.devices import address_of, uuids
from hostagent.engine.report.node_status import Condition, Transition

#: Transitions that are kept, and faults that have ended.
MOST = 256
#: Faults that have not ended: more than any host has at once.
_MOST_OPEN = 1024
_TEXT = 300
#: Outcomes of a check that has looked.
_JUDGED = ("pass", "warn", "fail")


@frozen
class Fault:
    """One critical finding on one subject. ``begin`` and ``end``: seconds since the epoch of the first pass that found it, and of the first
    one after it that found it well; 0 where it has not ended.
    """

    id: str
    subject: str
    pci: str  # "" for none
    uuid: str
    headline: str
    begin: float
    end: float
    boot_id: str  # when it began


@frozen
class Record:
    """All of it. ``statuses``: the status published last, by condition."""

    transitions: tuple[Transition, ...]
    faults: tuple[Fault, ...]
    statuses: Mapping[str, str]
    count: int  # transitions ever


EMPTY = Record((), (), {}, 0)


class Loaded(NamedTuple):
    """What was read back, and why it is not what was written ("" where it is)."""

    record: Record
    problem: str


def with_transitions(record: Record, conditions: tuple[Condition, ...], boot_id: str, now: float) -> tuple[Record, tuple[Transition, ...]]:
    """The record after these conditions were published at `now`, seconds since the epoch, and its new transitions."""
    by_type: dict[str, Condition] = {one.type: one for one in conditions}
    kinds = [*by_type, *(kind for kind in record.statuses if kind not in by_type)]
    news: list[Transition] = []
    for kind in kinds:
        old, one = record.statuses.get(kind, ""), by_type.get(kind)
        new = one.status if one else ""
        if old != new:
            reason, message, devices = (one.reason, one.message, one.devices) if one else ("DoesNotApply", "", ())
            number = record.count + len(news) + 1
            news.append(Transition(number, now, boot_id, kind, old, new, reason, message, devices))
    if not news:
        return record, ()
    statuses: dict[str, str] = {one.type: one.status for one in conditions}
    kept = (*record.transitions, *news)[-MOST:]
    return replace(record, transitions=kept, statuses=statuses, count=record.count + len(news)), tuple(news)


def with_faults(record: Record, report: Report) -> Record:
    """After a pass: faults that began or ended with it. One ends where its check finds its subject well, or the whole host, or has looked
    and does not name a device that is still there; and with a boot. What could not be read has not ended.
    """
    at = report.observed_at
    found = {
        (one.id, one.subject): one
        for one in report.findings
        if one.severity == "critical" and one.outcome == "fail" and one.axis == "fitness"
    }
    still = {(one.id, one.subject): one for one in record.faults if not one.end}
    ended = {key for key in _well(report, still) if key not in found} if still else set()
    new = [one for key, one in found.items() if key not in still]
    if not ended and not new:
        return record
    names = uuids(report.facts)
    faults = [replace(one, end=at) if not one.end and (one.id, one.subject) in ended else one for one in record.faults]
    for one in new:
        pci = address_of(one.subject, one.device)
        faults.append(Fault(one.id, one.subject, pci, names.get(pci, ""), one.headline[:_TEXT], at, 0, report.boot_id))
    return replace(record, faults=_bounded(faults))


def _well(report: Report, still: Mapping[tuple[str, str], Fault]) -> Iterable[tuple[str, str]]:
    """Those of `still` that this report ends, where it does not find them."""
    judged = {(one.id, one.subject) for one in report.findings if one.outcome in _JUDGED}
    passed = {one.id for one in report.findings if one.outcome == "pass" and not one.subject}
    unknown = {(one.id, one.subject) for one in report.findings if one.outcome == "unknown"}
    ids, blind = {name for name, _ in judged}, {name for name, _ in unknown}
    there = _devices(report.facts)
    for key, one in still.items():
        if key in unknown or (one.id, "") in unknown:
            continue
        is_named = one.id in ids and one.id not in blind and one.pci in there
        if key in judged or one.id in passed or is_named or (report.boot_id and one.boot_id != report.boot_id):
            yield key


def _devices(facts: Mapping[str, Any]) -> set[str]:
    """PCI addresses of the GPUs and network cards that were seen."""
    fabric = facts.get("fabric")
    parts = [facts.get("gpus"), *((fabric.get("nics"), fabric.get("rdma")) if isinstance(fabric, Mapping) else ())]
    return {row["pci"] for rows in parts if isinstance(rows, list) for row in rows if isinstance(row.get("pci"), str) and row["pci"]}


def last(transitions: tuple[Transition, ...]) -> Transition | None:
    """Of the newest ones, of one moment, the first: it is about the node as a whole."""
    newest: list[Transition] = []
    for one in reversed(transitions):
        if newest and (one.at != newest[0].at or one.condition in {other.condition for other in newest}):
            break
        newest.append(one)
    return newest[-1] if newest else None


def _bounded(faults: list[Fault]) -> tuple[Fault, ...]:
    over = {id(one) for one in sorted((one for one in faults if one.end), key=lambda one: one.end)[:-MOST]}
    still = {id(one) for one in [one for one in faults if not one.end][:-_MOST_OPEN]}
    return tuple(one for one in faults if id(one) not in over | still)


def dump(record: Record) -> str:
    """JSON for `load`."""
    return json.dumps(plain(record), ensure_ascii=False) + "\n"


def read(folder: str) -> Loaded:
    """The one in `folder`, empty where there is none."""
    kept = statedir.text(folder, statedir.RECORD)
    return load(kept.value) if kept.value else Loaded(EMPTY, kept.problem)


def load(text: str) -> Loaded:
    """What `dump` wrote. A damaged text is an empty record with a problem."""
    kept = statedir.parsed(Record, text, "record")
    if kept.problem:
        return Loaded(EMPTY, kept.problem)
    record: Record = kept.value
    times = (*(one.at for one in record.transitions), *(time for one in record.faults for time in (one.begin, one.end)))
    if not all(0 <= one <= statedir.MAX_TIME for one in times):
        return Loaded(EMPTY, "a time is out of range")
    return Loaded(record, "")


def since(record: Record, begin: float) -> dict[str, Any]:
    """As data, what happened from `begin` on, in seconds since the epoch; faults that had not ended by then are part of it."""
    return {
        "transitions": plain(tuple(one for one in record.transitions if one.at >= begin)),
        "faults": plain(tuple(one for one in record.faults if not one.end or one.end >= begin)),
    }
