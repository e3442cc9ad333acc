r"""The records of NCCL in a log, with any other text before, between and after them.

A record is ``HOST:PID:TID [DEVICE] [FILE:LINE ]NCCL LEVEL TEXT``. Launchers write before it, and what ends it is not written anywhere: the
line, or the next record. Only records that mean something here are looked at; a record that does not match is dropped alone.
"""

# A record ends with its line, or two spaces before the next one; without a space the host's name says where. A record that may be
# cut counts without `/GDRDMA` only where no other has it. The last line of a file without its end is left out, but for warnings.
# NCCL writes a host's name up to its first dot.

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Literal, NamedTuple

from hostagent.domains.nccl.logs.chunks import Block
from hostagent.domains.nccl.logs.connections import Ends
from hostagent.domains.nccl.tables.logs import OTHER_LIBRARIES, RESULT_NAMES, RESULT_TEXTS, TIMED_OUT

#: How a record ends: where it says; where the next one begins without a space, which may cut it; where the log does.
End = Literal["whole", "glued", "cut"]
#: Bytes of a text that are read, and of the text before it.
_MOST, _BEFORE = 4096, 600
#: Bytes of lines with several records that wait until all hosts are known.
_PENDING = 8 * 1024 * 1024


class Record(NamedTuple):
    """One record, or one line of another program."""

    file: str
    line: int
    host: str  # "" where unknown
    pid: str
    level: str  # WARN, INFO; "" of another program
    text: str
    end: End

    @property
    def shown(self) -> str:
        """The record as in the log, without a launcher's prefix."""
        before = f"{self.host}:{self.pid} " if self.host else ""
        return f"{before}NCCL {self.level} {self.text}" if self.level else self.text


_KINDS = (
    rb"Using network |Assigned NET plugin |NET/|Bootstrap ?:|(?:\[Rank \d+\] )?(?:nccl\w+ )?comm 0x|NCCL_\w+ set |Plugin Path|P2P plugin|"
    rb"(?:TUNER|PROFILER|ENV|GIN|RMA)/Plugin|Detected mixed|(?:Successfully )?[Ll]oaded|Failed to |NVLS multicast support is not|"
    rb"[\w./-]{1,200}:\d+ (?:\([^)\n]{0,200}\) )?-> [1-6]"
)
#: The most frequent lines are skipped first: that halves the time.
_WANTED = re.compile(rb"NCCL (?!INFO Channel )(?:WARN |INFO (?!Trees |Ring )(?=" + _KINDS + rb"))")
_LOCAL = re.compile(rb" via (?:P2P/|SHM/|direct shared memory)")
_ANY = re.compile(rb"NCCL (INFO|WARN|TRACE|CALL) ")
_ANCHOR = re.compile(rb":(\d{1,10}):\d{1,10} \[-?\d{1,10}\] ")
_NO_NAME = re.compile(rb"[^\w.-]")
_ESCAPES = re.compile(rb"(?:\x1b|\\u001[bB]|\\x1[bB]|\\e|\\033)\[[0-9;]{0,20}[A-Za-z]")
_REPEATED = re.compile(rb" \[repeated \d+x across (?:all )?\w+\].*$", re.DOTALL)
_VERSION = re.compile(rb"NCCL version (\d+\.\d+(?:\.\d+)?)(\+cuda[\d.]+)?(?=[\s\"'\\,]|$)")
_LIBRARY = re.compile(rb"(?<![A-Za-z])(" + "|".join(OTHER_LIBRARIES).encode() + rb")(?![A-Za-z])")
_CCL = b"CCL version "
_LIBRARY_VERSION = re.compile(_LIBRARY.pattern + rb" version ")
_RESULT = re.compile(rf"(?:{'|'.join(RESULT_TEXTS)})".encode())
_TIMED_OUT = re.compile(TIMED_OUT.encode())
_NAMES = re.compile(rf"\b{RESULT_NAMES}\b".encode())


class _At(NamedTuple):
    """The place of a record and its process."""

    file: str
    line: int
    host: str
    pid: str


class Reader:
    """Takes blocks, yields records. `local`: whether lines of channels within a host are still wanted; there are very many."""

    def __init__(self) -> None:
        self.local = True
        self.pids: dict[str, set[str]] = {}  # by process id, its hosts
        self._pending: list[tuple[str, int, bytes, bool]] = []
        self._pending_bytes = 0
        self._ends = Ends()
        self._versions: set[bytes] = set()

    def read(self, file: str, block: Block) -> Iterator[Record]:
        """The records of a block."""
        data = _plain(block.data)
        if b"CCL" not in data and b"nccl" not in data:
            return
        if data is not block.data:
            block = Block.of(data, block.line, is_whole=block.is_whole)
        done: set[int] = set()  # lines with several records, by where they begin
        yield from self._records_at(_starts(_WANTED, data), file, block, done, is_start=True)
        if self.local:
            yield from self._records_at(takewhile(lambda _: self.local, _starts(_LOCAL, data)), file, block, done)
        yield from self._records_at(self._ends.new(data), file, block, done)
        yield from self._libraries(file, block)
        yield from _others(file, block)

    def _records_at(self, places: Iterable[int], file: str, block: Block, done: set[int], *, is_start: bool = False) -> Iterator[Record]:
        """The records at these places: each place is inside a record or its start."""
        data = block.data
        begin = end = looked = -1  # of the line that was looked at last: of a line of a megabyte each part is looked at once
        is_over, is_whole = True, False
        for place in places:
            start = place
            if start >= end:
                begin = looked = data.rfind(b"\n", max(end, 0), start) + 1 or end + 1
                end = data.find(b"\n", start)
                is_whole, end = end >= 0, end if end >= 0 else len(data)
                is_over = begin in done
            if is_over:
                continue
            if not is_start:
                start, looked = data.rfind(b"NCCL INFO ", looked, start), start
                if start < 0:
                    continue
            is_over, text = True, start + len("NCCL INFO ")
            if data.find(b"NCCL ", begin, start) >= 0 or data.find(b"NCCL ", text, end) >= 0:
                done.add(begin)
                yield from self._several(file, block.number(begin), data[begin:end], is_whole)
                continue
            host, pid = self._origin(data[max(begin, start - _BEFORE) : start])
            level = data[start + 5 : start + 9].decode()
            yield _record(_At(file, block.number(begin), host, pid), level, data[text:end], "whole" if is_whole else "cut")

    def _libraries(self, file: str, block: Block) -> Iterator[Record]:
        """Each version once, and other libraries; where nothing is NCCL's, those that are only named."""
        data, at = block.data, 0
        while (at := data.find(_CCL, at)) >= 0:
            text, place = data[max(0, at - 4) : at + len(_CCL) + 60], at
            at += len(_CCL)
            for pattern, level in ((_VERSION, "VERSION"), (_LIBRARY_VERSION, "LIBRARY")):
                one = pattern.search(text)
                if one and one[0] not in self._versions and len(self._versions) < 1000:
                    self._versions.add(one[0])
                    is_whole = level == "LIBRARY" or bool(one[2])
                    said = one[0] if level == "VERSION" else one[1]
                    yield Record(file, block.number(place), "", "", level, said.decode(), "whole" if is_whole else "cut")
        if b"NCCL " not in data and (named := _LIBRARY.search(data)):
            yield Record(file, block.number(named.start()), "", "", "WORD", named[0].decode(), "whole")

    def rest(self) -> Iterator[Record]:
        """The records of lines that waited until all hosts are known."""
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        for file, number, line, is_whole in pending:
            yield from self._split(file, number, line, is_whole)

    def _origin(self, before: bytes) -> tuple[str, str]:
        """Host and process, from the text before a record that is alone on its line."""
        anchors = list(_ANCHOR.finditer(before))
        if not anchors:
            return "", ""
        anchor = anchors[-1]
        host, pid = _name_before(before, anchor.start()), anchor[1].decode()
        if host and len(self.pids) < 200_000:
            self.pids.setdefault(pid, set()).add(host)
        return host, pid

    def _several(self, file: str, number: int, line: bytes, is_whole: bool) -> Iterator[Record]:
        first = _ANY.search(line)
        if first:
            self._origin(line[max(0, first.start() - _BEFORE) : first.start()])
        if self._pending_bytes + len(line) > _PENDING:
            yield from self._split(file, number, line, is_whole)
            return
        self._pending.append((file, number, line, is_whole))
        self._pending_bytes += len(line)

    def _split(self, file: str, number: int, line: bytes, is_whole: bool) -> Iterator[Record]:
        """The records of one line. A host's name may follow the text before it without a space: the known names decide where."""
        starts = list(_ANY.finditer(line))
        host, pid = self._origin(line[max(0, starts[0].start() - _BEFORE) : starts[0].start()])
        for one, following in zip(starts, [*starts[1:], None], strict=True):
            level, begin = one[1].decode(), one.end()
            if following is None:
                yield _record(_At(file, number, host, pid), level, line[begin:], "whole" if is_whole else "cut")
                return
            gap = line[begin : following.start()]
            anchor = _ANCHOR.search(gap)
            if anchor is None:  # the end of the text is unknown
                yield _record(_At(file, number, host, pid), level, gap, "cut")
                host = pid = ""
                continue
            next_pid, token = anchor[1].decode(), _name_before(gap, anchor.start())
            name, ends = self._name(next_pid, token, gap, anchor.start())
            until = anchor.start() - len(name.encode()) if name else anchor.start() - len(token.encode())
            text = gap[:until]
            if ends == "glued":
                text = _launcher(text)
            yield _record(_At(file, number, host, pid), level, text, ends if name else "cut")
            host, pid = name, next_pid

    def _name(self, pid: str, token: str, gap: bytes, until: int) -> tuple[str, End]:
        """The host before ``:PID:``, and how the text before it ends."""
        begin = until - len(token.encode())
        has_space = gap[:begin].endswith((b" ", b"\t", b'"', b"'"))
        known = self.pids.get(pid) or {host for hosts in self.pids.values() for host in hosts} if len(self.pids) < 5000 else ()
        if token in known or (has_space and gap[:begin].endswith((b"  ", b'"', b"'"))):
            return token, "whole" if has_space else "glued"
        name = max((host for host in known if token.endswith(host)), key=len, default="")
        if name:
            return name, "glued"
        return (token, "whole") if has_space else ("", "cut")


def _starts(pattern: "re.Pattern[bytes]", data: bytes) -> Iterator[int]:
    return (found.start() for found in pattern.finditer(data))


def _record(at: _At, level: str, text: bytes, end: End) -> Record:
    """Without what a launcher or a container's log wrote after it."""
    for ending in (b"\\n", b"\\r", b"\r"):
        head, found, _ = text.partition(ending)
        if found:
            text, end = head, "whole"
    if b" [repeated " in text:
        text = _REPEATED.sub(b"", text)
    if len(text) > _MOST:
        text, end = text[:_MOST], "cut"
    text = text.rstrip(b" \t,")
    while text.endswith((b'"', b"'")) and text.count(text[-1:]) % 2:  # of a text in quotes as a whole
        text = text[:-1].rstrip(b" \t,")
    return Record(*at, level, text.decode("utf-8", "replace"), end)


def _plain(data: bytes) -> bytes:
    """Without colours, and with the characters that JSON escapes."""
    if b"\x1b" in data or b"\\" in data:
        data = _ESCAPES.sub(b"", data)
    if b"\\" in data and b"\\u003" in data:
        data = data.replace(b"\\u003e", b">").replace(b"\\u003c", b"<").replace(b"\\u003E", b">").replace(b"\\u003C", b"<")
    return data


def _name_before(data: bytes, until: int) -> str:
    """The name that ends at this place.

    >>> _name_before(b'[1,2]<stdout>:node-1', 20), _name_before(b"x", 0)
    ('node-1', '')
    """
    window = data[max(0, until - 255) : until]
    cuts = [found.end() for found in _NO_NAME.finditer(window)]
    return window[cuts[-1] if cuts else 0 :].decode("ascii", "replace")


_LAUNCHED = re.compile(rb"(?:\[\d+(?:,\d+)?\](?:<\w+>)?:?|<\w+>:?)\s*$")


def _launcher(text: bytes) -> bytes:
    """Without what a launcher wrote before the next record."""
    return _LAUNCHED.sub(b"", text)


def _others(file: str, block: Block) -> Iterator[Record]:
    """NCCL's results as other programs print them, and collectives that they end."""
    if b"rror" in block.data or b"invalid " in block.data:
        yield from _results(file, block, _RESULT)
        yield from _results(file, block, _NAMES)
    yield from _results(file, block, _TIMED_OUT)


def _results(file: str, block: Block, pattern: "re.Pattern[bytes]") -> Iterator[Record]:
    """The first few of a block are enough."""
    data, count = block.data, 0
    for found in pattern.finditer(data):
        begin = data.rfind(b"\n", 0, found.start()) + 1
        end = data.find(b"\n", found.end())
        line = data[max(begin, found.start() - _BEFORE) : min(end if end >= 0 else len(data), found.end() + _BEFORE)]
        if _is_result(line):
            count += 1
            yield Record(file, block.number(begin), "", "", "", line.strip().decode("utf-8", "replace"), "whole")
        if count >= 20:
            return


def _is_result(line: bytes) -> bool:
    """Not NCCL's own records: their warnings and traces count by themselves."""
    return (b"NCCL" in line or b"nccl" in line) and not re.search(rb"NCCL (?:INFO|WARN|TRACE|CALL) ", line)
