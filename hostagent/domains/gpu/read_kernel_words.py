"""Events of this boot in the kernel log other than Xids, by the rows of `hostagent.core.tables.kernel_words`, and how they ended."""

# Each part of the table is asked for by its own patterns. A recording that was made with an older table keeps the faults that it knew; of
# parts that have changed since, it cannot say that there was none.

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from hostagent.core.retention import Keep
from hostagent.core.tables.kernel_words import ENDS, NOT_JOINED, PARTS, ROWS, patterns
from hostagent.core.tables.kernel_words.row import JOIN_S, JOIN_WITHOUT_CALLER_S, Part, Row
from hostagent.core.unread import Unread
from hostagent.domains.gpu.kernel_events import covers, may_be_cleared
from hostagent.domains.gpu.read_cleared import read_cleared
from hostagent.domains.system.read_identity import read_identity
from hostagent.domains.system.read_kernel_log import read_kernel_log
from hostagent.facts.gpu import Clearing
from hostagent.facts.kernel_words import KernelEnd, KernelEvent, KernelWords
from hostagent.host.source import Source

_LINE = 512
#: Events of one part, and traces that are open, at most.
_MOST, _MOST_OPEN = 512, 64
_TIMELESS = Unread("not-recorded", "the record has no time")
_ANY_CALLER = "*"
_OLDER = Unread("older-recording", "the snapshot was recorded by an older list of kernel words", "kernel_words")


class Line(NamedTuple):
    """One record."""

    text: str
    seconds: float | Unread = _TIMELESS
    caller: str = ""


class Found(NamedTuple):
    """Events and ends of one part."""

    events: tuple[KernelEvent, ...]
    ends: tuple[KernelEnd, ...]


def read_kernel_words(source: Source, known: Callable[[type], Any]) -> KernelWords:
    cleared = read_cleared(source, read_identity(source, known).boot_id)
    words = () if isinstance(cleared, Unread) else cleared
    logs = {part: _log(source, part) for part in PARTS}
    events = dict[Part, "tuple[KernelEvent, ...] | Unread"]()
    ends = list[KernelEnd]()
    for part, log in logs.items():
        lines = log if isinstance(log, Unread) else parse_lines(log.get("lines"))
        found = lines if isinstance(lines, Unread) else parse_words(part, lines, words)
        is_older = isinstance(log, dict) and log.get("is_older") is True
        events[part] = found if isinstance(found, Unread) else found.events or (_OLDER if is_older else ())
        ends += () if isinstance(found, Unread) else found.ends
    log = next((log for log in logs.values() if not isinstance(log, Unread)), logs["gpu"])
    complete = log if isinstance(log, Unread) else log.get("complete")
    return KernelWords(
        **events,
        ends=log if isinstance(log, Unread) else tuple(ends),
        log_complete=complete if isinstance(complete, bool | Unread) else Unread("error", "kernel_words: complete is not true or false"),
        log_oldest=log if isinstance(log, Unread) else _seconds(log.get("oldest")),
        cleared=cleared,
    )


def _log(source: Source, part: Part) -> "dict[str, Any] | Unread":
    """Where the kernel log cannot be read at all, Xids and these words are one gap."""
    found = source.kernel_words(keep=Keep("messages", patterns(part)))
    if isinstance(found, Unread):
        xids = read_kernel_log(source)
        return xids if isinstance(xids, Unread) and xids.why == found.why else found
    return found


def parse_lines(lines: Any) -> "tuple[Line, ...] | Unread":
    """Lines of an answer: ``[seconds since the boot, caller, message]``.

    >>> parse_lines([[5.5, "T12", "NVRM: a"]])
    (Line(text='NVRM: a', seconds=5.5, caller='T12'),)
    """
    found = [_line(one) for one in lines] if isinstance(lines, list) else [None]
    if None in found:
        return Unread("error", "kernel_words: lines is no list of seconds, callers and texts")
    return tuple(one for one in found if one is not None)


def _line(line: Any) -> "Line | None":
    match line:
        case [int() | float() as seconds, str(caller), str(text)] if math.isfinite(seconds):
            return Line(text, float(seconds), caller)
        case [int() | float() as seconds, str(text)] if math.isfinite(seconds):
            return Line(text, float(seconds))
    return None


def _seconds(value: Any) -> "float | Unread":
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else Unread("not-recorded", "kernel_words: the tape has no time")


def parse_words(part: Part, lines: Iterable[Line], cleared: tuple[Clearing, ...] = ()) -> Found:
    """Events of one part, grouped by row, device and end, in the order in which each began.

    >>> text = "mlx5_core 0000:19:00.0: poll_health:837:(pid 0): device's health compromised - reached miss count"
    >>> [(one.row, one.subject, one.count) for one in parse_words("nic", [Line(text), Line(text)]).events]
    [('mlx5-health', '0000:19:00.0', 2)]
    """
    events, ends = _Events(), list[KernelEnd]()
    open_traces = dict[str, _Open]()
    clearings = sorted(cleared, key=lambda one: one.upto)
    table = _table(part)
    for line in lines:
        while clearings and not isinstance(line.seconds, Unread) and clearings[0].upto < line.seconds:
            events.clear(clearings.pop(0))
        text = line.text[:_LINE]
        if mark := next((match for pattern in table.ends if (match := pattern.words.match(text))), None):
            by = next(one.by for one in table.ends if one.words is mark.re)
            subject = _subject(mark)
            ends.append(KernelEnd(part, by, subject, line.seconds))
            events.end(by, subject)
            continue
        row, match = next(((row, match) for row, pattern in table.rows if (match := pattern.match(text))), (None, None))
        if row is not None and match is not None and not row.then:
            events.add(row, _subject(match), text, line.seconds)
        elif row is not None and match is not None:
            _begin(open_traces, row, match, line)
        else:
            _join(open_traces, events, table, line)
    for clearing in clearings:
        events.clear(clearing)
    return Found(events.all(), tuple(ends))


class _Open(NamedTuple):
    """The first record of several."""

    row: Row
    line: Line


def _begin(traces: "dict[str, _Open]", row: Row, match: "re.Match[str]", line: Line) -> None:
    key = _key(match) or (_ANY_CALLER if row.is_of_another_cpu else line.caller)
    traces[key] = _Open(row, line)
    if len(traces) > _MOST_OPEN:
        del traces[next(iter(traces))]


def _join(traces: "dict[str, _Open]", events: "_Events", table: "_Table", line: Line) -> None:
    """A later record of a trace: one that makes it count, or one that ends it."""
    if not traces:
        return
    if table.not_joined and table.not_joined.match(line.text):
        traces.pop(line.caller, None)
        for key in [key for key in traces if key not in ("", _ANY_CALLER) and line.text.startswith(f"{{{key}}}")]:
            del traces[key]
        return
    for pattern in table.later:
        match = pattern.match(line.text)
        if not match:
            continue
        keys = (_key(match),) if _key(match) else (line.caller, _ANY_CALLER)
        for key in keys:
            begun = traces.get(key)
            if begun and re.match(begun.row.then, line.text) and _is_near(begun.line, line, is_same=bool(key)):
                del traces[key]
                texts = f"{begun.line.text[: _LINE // 2]} … {line.text.strip()[: _LINE // 2]}"
                events.add(begun.row, _subject(match), texts, line.seconds)
                return


def _is_near(first: Line, later: Line, *, is_same: bool) -> bool:
    """`is_same`: the two are known to belong together, by their caller or their key."""
    if isinstance(first.seconds, Unread) or isinstance(later.seconds, Unread):
        return False
    return 0 <= later.seconds - first.seconds <= (JOIN_S if is_same else JOIN_WITHOUT_CALLER_S)


class _Ending(NamedTuple):
    by: str
    words: "re.Pattern[str]"


class _Table(NamedTuple):
    """The compiled rows of one part."""

    rows: "tuple[tuple[Row, re.Pattern[str]], ...]"
    ends: "tuple[_Ending, ...]"
    later: "tuple[re.Pattern[str], ...]"
    not_joined: "re.Pattern[str] | None"


@lru_cache(maxsize=8)
def _table(part: Part) -> _Table:
    rows = [row for row in ROWS if row.part == part]
    apart = NOT_JOINED.get(part, "")
    return _Table(
        tuple((row, re.compile(row.words)) for row in rows),
        tuple(_Ending(end.by, re.compile(end.words)) for end in ENDS[part]),
        tuple(re.compile(one) for one in dict.fromkeys(row.then for row in rows if row.then)),
        re.compile(apart) if apart else None,
    )


def _key(match: "re.Match[str]") -> str:
    return match.groupdict().get("key") or ""


def _subject(match: "re.Match[str]") -> str:
    """What a record is about, a PCI address as sysfs writes it.

    >>> _subject(re.match(r"(?P<device>.*)", "41:00.0")), _subject(re.match(r"(?P<device>.*)", "DIMM_A1"))
    ('0000:41:00.0', 'DIMM_A1')
    """
    groups = match.groupdict()
    text = next((groups[name] for name in ("pci", "device", "at", "client") if groups.get(name)), "").replace("0x", "")
    found = re.fullmatch(r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}:[0-9a-fA-F]{2})(\.[0-7])?", text)
    return f"{int(found[1] or '0', 16):04x}:{found[2]}{found[3] or '.0'}".lower() if found else text


class _Events:
    """Events in the order in which each began; a record after an event's end begins a new one."""

    def __init__(self) -> None:
        self._found: list[KernelEvent] = []
        self._rows: list[Row] = []
        self._open: dict[tuple[str, str], int] = {}

    def add(self, row: Row, subject: str, line: str, at: "float | Unread") -> None:
        place = self._open.get((row.id, subject))
        if place is not None:
            before = self._found[place]
            self._found[place] = replace(before, line=line, count=before.count + 1, seconds=at)
        elif len(self._found) < _MOST:
            self._open[row.id, subject] = len(self._found)
            self._rows.append(row)
            self._found.append(KernelEvent(row.id, subject, line, 1, at, at, ""))

    def end(self, by: str, subject: str) -> None:
        """Ends the open events of one device, or all, that such a record ends."""
        for key, place in list(self._open.items()):
            if by in self._rows[place].ends and subject in ("", key[1]):
                self._end(key, by)

    def clear(self, clearing: Clearing) -> None:
        for key, place in list(self._open.items()):
            if covers(clearing, self._found[place]) and may_be_cleared(self._found[place]):
                self._end(key, "cleared")

    def _end(self, key: tuple[str, str], by: str) -> None:
        place = self._open.pop(key)
        self._found[place] = replace(self._found[place], ended_by=by)

    def all(self) -> tuple[KernelEvent, ...]:
        return tuple(self._found)
