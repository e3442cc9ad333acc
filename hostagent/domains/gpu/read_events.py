"""Faults of GPUs and NVSwitches in the kernel log of this boot, and how they ended."""

# A load of the module ends earlier faults: its line comes after the probes, so the load succeeded. Records that the ring buffer has
# lost are taken from the journal, even if that does not reach back to the boot.

import math
import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, NamedTuple

from hostagent.core.tables import kernel_log
from hostagent.core.unread import Unread, need
from hostagent.domains.gpu.faults import covers, may_be_cleared
from hostagent.domains.gpu.read_cleared import read_cleared
from hostagent.domains.gpu.xid_lines import BURST_S, parse_xid_line, worse_line
from hostagent.domains.system.read_identity import read_identity
from hostagent.domains.system.read_kernel import read_boot_time
from hostagent.domains.system.read_kernel_log import read_kernel_log
from hostagent.facts.gpu import Clearing, End, GpuEvents, InitFailure, Xid
from hostagent.host.source import Source

_XID, _SXID, _OF_XID = re.compile(kernel_log.XID), re.compile(kernel_log.SXID), re.compile(kernel_log.OF_XID)
_SXID_MORE = re.compile(kernel_log.SXID_MORE)
_GPU, _HEAD, _LOADED = re.compile(kernel_log.GPU), re.compile(kernel_log.HEAD), re.compile(kernel_log.LOADED)
_OFF_XID = 79
_LINE = 512
_LINKS = 256  # more than any GPU has: a garbled number is none
_BURST = 10_000  # more are not counted
_TIMELESS = Unread("not-recorded", "the record has no time")

Seconds = float | Unread


class Events(NamedTuple):
    """The fields of `GpuEvents` that are parsed from log lines and clearings.

    >>> parse_events(["NVRM: Xid (PCI:0000:1b:00): 79, pid=4, GPU has fallen off the bus."], [5.5]).xids[0].seconds
    5.5
    >>> parse_events(["nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress"]).sxids[0].code
    12028
    >>> parse_events(["NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x40:2028)"]).init_failures[0].kind
    'adapter'
    """

    xids: tuple[Xid, ...]
    sxids: tuple[Xid, ...]
    init_failures: tuple[InitFailure, ...]
    ends: tuple[End, ...]


def read_events(source: Source, known: Callable[[type], Any]) -> GpuEvents:
    log = read_kernel_log(source)
    identity = read_identity(source, known)
    cleared = read_cleared(source, identity.boot_id)
    if isinstance(log, Unread):
        return GpuEvents(log, log, log, log, log, log, log, cleared)
    now, booted_at = identity.now, read_boot_time(source)
    uptime = now if isinstance(now, Unread) else booted_at if isinstance(booted_at, Unread) else now - booted_at
    found = parse_events(log.lines, log.times, () if isinstance(cleared, Unread) else cleared)
    return GpuEvents(found.xids, found.sxids, found.init_failures, log.complete, log.oldest, uptime, found.ends, cleared)


def parse_events(lines: Iterable[str], times: Iterable[Seconds] = (), cleared: tuple[Clearing, ...] = ()) -> Events:
    """Xid, SXid and initialisation records, grouped by device, code and end, in the order in which each began.

    `times` are the records' seconds since the boot. A clearing ends a fault; a later record begins a new one.

    >>> ended = "NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
    >>> [one.ended_by for one in parse_events(["NVRM: Xid (PCI:0000:1b:00): 119, a", ended, "NVRM: Xid (PCI:0000:1b:00): 119, b"]).xids]
    ['reset', '']
    """
    xids, sxids = _Faults("xid"), _Faults("sxid")
    ends: list[End] = []
    clearings = sorted(cleared, key=lambda one: one.upto)
    failures: dict[tuple[str, str], InitFailure] = {}
    last_gpu = ""  # a message of several lines names the GPU only in its first line
    for text, at in zip((line[:_LINE] for line in lines), chain(times, repeat(_TIMELESS)), strict=False):
        _clear((xids, sxids), clearings, at)
        line = " ".join(text.split("\n")).strip()
        gpu = _address(_GPU.match(text))
        last_gpu = gpu or last_gpu
        mark = _XID.match(text) or _SXID.match(text)
        if mark:
            pci, code = _subject(text, mark)
            if mark.re is _SXID and sxids.has(pci, code) and _is_more(text, mark):
                continue
            if mark.re is _XID and code == kernel_log.RECOVERY_CODE and line.endswith(kernel_log.RECOVERED):
                xids.end("reset", at, pci)
                ends.append(End("reset", pci, at))
            else:
                (sxids if mark.re is _SXID else xids).add(pci, code, line, at)
        elif _LOADED.match(text):
            xids.end("load", at)
            sxids.end("load", at)
            ends.append(End("load", "", at))
            failures = {key: replace(one, ended_by="load") for key, one in failures.items()}
        elif (gpu and kernel_log.GONE in text) or text.startswith(kernel_log.STILL_GONE):
            if not xids.is_open(gpu or last_gpu, _OFF_XID):  # else the message that goes with the Xid's own line
                xids.add(gpu or last_gpu, _OFF_XID, line, at)
        elif kind := _init_failure(text):
            failures[gpu, kind] = InitFailure(gpu, kind, line, "")
    _clear((xids, sxids), clearings, math.inf)
    return Events(xids.all(), sxids.all(), tuple(failures.values()), tuple(ends))


def _subject(text: str, mark: "re.Match[str]") -> tuple[str, int]:
    """Address and code of an Xid or SXid, "" and 0 if they cannot be parsed."""
    match = _OF_XID.match(text, mark.end())
    return _address(match), int(match[3]) if match else 0


def _is_more(text: str, mark: "re.Match[str]") -> bool:
    """Whether the record only has the details of an SXid that an earlier one reports."""
    match = _OF_XID.match(text, mark.end())
    return match is not None and _SXID_MORE.match(text, match.end()) is not None


def _clear(faults: "Iterable[_Faults]", clearings: list[Clearing], at: Seconds) -> None:
    """Applies the clearings of records before `at`, and removes them from the list."""
    while clearings and not isinstance(at, Unread) and clearings[0].upto < at:
        clearing = clearings.pop(0)
        for one in faults:
            one.clear(clearing)


class _Faults:
    """Faults in the order in which each began; a record after a fault's end begins a new fault."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._found: list[Xid] = []
        self._open: dict[tuple[str, int], int] = {}
        self._known: set[tuple[str, int]] = set()
        self._recent: dict[int, deque[Seconds]] = {}  # times of the newest lines, by place in `_found`

    def add(self, pci: str, code: int, line: str, at: Seconds) -> None:
        place = self._open.get((pci, code))
        link = parse_xid_line(line, code).link if self._kind == "xid" else -1
        links = (link,) if 0 <= link < _LINKS else ()
        if place is None:
            self._open[pci, code] = len(self._found)
            self._known.add((pci, code))
            self._recent[len(self._found)] = deque((at,), _BURST)
            self._found.append(Xid(pci, code, line, 1, at, "", _TIMELESS, at, links, 1))
            return
        before = self._found[place]
        self._found[place] = replace(
            before,
            line=worse_line(before.line, line, code, self._kind),
            count=before.count + 1,
            seconds=at,
            links=tuple(sorted({*need(before.links), *links})),
            burst=max(need(before.burst), self._burst(place, at)),
        )

    def _burst(self, place: int, at: Seconds) -> int:
        """Lines up to this one within `BURST_S`. Without its time a line may be as old as any."""
        recent = self._recent[place]
        recent.append(at)
        while not isinstance(at, Unread) and not isinstance(recent[0], Unread) and at - recent[0] > BURST_S:
            recent.popleft()
        return len(recent)

    def end(self, by: str, at: Seconds, pci: "str | None" = None) -> None:
        """Ends the open faults of one device, or of all; a line with an unparsable address (``""``) ends none."""
        if pci == "":
            return
        for key in [key for key in self._open if pci is None or key[0] == pci]:
            self._end(key, by, at)

    def clear(self, clearing: Clearing) -> None:
        """Ends the open faults that may be cleared, if all their records are covered."""
        for key, place in list(self._open.items()):
            if covers(clearing, self._found[place]) and may_be_cleared(key[1], self._kind):
                self._end(key, "cleared", clearing.at)

    def _end(self, key: tuple[str, int], by: str, at: Seconds) -> None:
        place = self._open.pop(key)
        self._found[place] = replace(self._found[place], ended_by=by, ended_at=at)

    def is_open(self, pci: str, code: int) -> bool:
        return (pci, code) in self._open

    def has(self, pci: str, code: int) -> bool:
        """Whether the log has it, ended or not."""
        return (pci, code) in self._known

    def all(self) -> tuple[Xid, ...]:
        return tuple(self._found)


def _init_failure(text: str) -> str:
    """The kind of initialisation failure in a record, "" for none.

    >>> _init_failure("NVRM: GPU0 RmInitAdapter: Cannot initialize GSP firmware RM"), _init_failure("NVRM: a[1]: RmInitAdapter failed")
    ('gsp', '')
    """
    head = _HEAD.match(text)
    if not head:
        return "firmware" if re.match(kernel_log.FIRMWARE, text) else ""
    function, words = (head["function"] or "").lstrip("_"), text[head.end() :]
    return next(
        (
            one.kind
            for one in kernel_log.INIT_FAILURES
            if function.startswith(one.function) and words.startswith(one.begins) and one.has in words
        ),
        "",
    )


def _address(match: "re.Match[str] | None") -> str:
    """The address of a match of `_ADDRESS`, as sysfs writes it.

    >>> _address(_GPU.search("NVRM: GPU at PCI:0000:1B:00: GPU-bc0fa0b9"))
    '0000:1b:00.0'
    """
    if not match:
        return ""
    domain, bus, device = match[1].split(":")
    return f"{int(domain, 16):04x}:{bus}:{device}{match[2] or '.0'}".lower()
