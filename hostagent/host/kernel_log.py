"""Kernel messages of this boot: /dev/kmsg, else syslog(2); and the journal where these have wrapped or may not be read.

Each has an escaping of its own, and a parser that finds the end of a record by its format, never by the text of a message. Records of
user space, from processes that may write to /dev/kmsg, are dropped.
"""

# syslog(2) prints the prefix again for each line of a message, so lines with one time are one record. Every live root is of this
# kernel, so where /dev/kmsg is denied, as in each container without privileges, the call serves below --host-root too.

import errno
import json
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from io import BytesIO, StringIO
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from hostagent.core.answers import MIB, Answer
from hostagent.core.tables import kernel_words as words
from hostagent.core.tables.kernel_log import FIRST, KEPT, LINK, LINK_WORDS
from hostagent.core.unread import Unread
from hostagent.host.files import unread
from hostagent.host.paths import Root

KMSG = "/dev/kmsg"
KMSG_NUMBERS = (1, 11)  # Linux kernel, Documentation/admin-guide/devices.txt
_JOURNAL = ("journalctl", "-k", "-b", "0", "--no-pager", "-q", "-a", "-o", "json")
_FIELDS = "MESSAGE,SYSLOG_FACILITY,_SOURCE_MONOTONIC_TIMESTAMP"
_MAX_BYTES, _MAX_MADE_BYTES = 64 * MIB, 4 * MIB
_MAX_S = 2.0
MESSAGE = 1024  # characters that the kernel keeps of one (LOG_LINE_MAX)
#: More records are thinned to the newest of each kind: a program that faults repeatedly fills a log.
_MOST, _MOST_OF_A_KIND = 20_000, 100

_FIRST, _KEPT, _WORDS = re.compile(FIRST), re.compile(KEPT), re.compile(words.KEPT)
#: Numbers that differ between records of one kind; not PCI addresses.
_NUMBERS = re.compile(r"0x[0-9a-f]+|\b\d{2,}\b(?![:.])")
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
_PREFIX = re.compile(rb"<\d{1,4}>\[ *\d{1,12}\.\d{6}\](?:\[ *[TC]\d{1,10}\])? ")
_CALLER = re.compile(rb"\]\[ *([TC]\d{1,10})\] $")


class Record(NamedTuple):
    """One message of the kernel: seconds since the boot, its text, which may have several lines, and the task or CPU that logged it."""

    seconds: float
    message: str
    caller: str = ""  # T12, C4; "" where the kernel or the journal does not say


class Answers(NamedTuple):
    """Of both questions about the kernel log, ``{"lines": […], "complete": bool, "oldest": seconds since the boot}``: records oldest
    first, whether the log reaches back to the boot, and the time of the first of all its records (null where there is none).
    """

    kernel_log: Answer  # of `hostagent.core.tables.kernel_log`: ``[seconds since the boot, message]``
    kernel_words: Answer  # of `hostagent.core.tables.kernel_words`: ``[seconds since the boot, caller, message]``


def read_both(root: Root, run: Callable[..., Answer]) -> Answers:
    """Both answers. `run` starts journalctl where the ring buffer does not suffice."""
    ring = read_ring(root)
    return Answers(with_journal("kernel_log", ring.kernel_log, run), with_journal("kernel_words", ring.kernel_words, run))


def read_ring(root: Root) -> Answers:
    """Both answers by the ring buffer alone, read once."""
    ring = _ring(root)
    return Answers(ring, ring) if isinstance(ring, Unread) else ring


def with_journal(question: str, ring: Answer, run: Callable[..., Answer]) -> Answer:
    """The answer to one question, also by the journal where the ring buffer does not suffice.

    Each question has its own journalctl: a flood of records of one fails that one alone.
    """
    kept, answer_of = (KEPT, _of_log) if question == "kernel_log" else (words.KEPT, _of_words)
    return _with_journal(ring, run, kept, answer_of)


def _with_journal(ring: Answer, run: Callable[..., Answer], kept: str, answer_of: "Callable[[Iterable[Record]], Answer]") -> Answer:
    if isinstance(ring, dict) and ring["complete"]:
        return ring
    answer = run(*_JOURNAL, f"--output-fields={_FIELDS}", "-g", f"^(?:{kept})", "SYSLOG_FACILITY=0")
    if not isinstance(answer, Unread) and answer["exit_code"] == 0:
        try:
            journal = answer_of(parse_journal(answer["stdout"]))
        except ValueError:  # no output of journalctl
            return ring
        if journal["complete"] or isinstance(ring, Unread):
            return journal
        return _join(journal, ring)
    return ring


def _join(journal: Answer, ring: Answer) -> Answer:
    """The ring buffer, after the journal's records from before its start."""
    begins = ring["oldest"]
    earlier = [line for line in journal["lines"] if begins is None or line[0] < begins]
    return {**ring, "lines": [*earlier, *ring["lines"]][-_MOST:], "oldest": earlier[0][0] if earlier else begins}


def _ring(root: Root) -> "Answers | Unread":
    """By the device, or by the system call where it is not accessible, as in containers: each live root has this kernel."""
    device = _device(root)
    if not isinstance(device, Unread) or root.simulated:
        return device
    text = system_call()
    if isinstance(text, Unread):
        return device
    try:
        records = list(parse_syslog(text))
    except ValueError as error:
        return Unread("error", f"syslog(2): {error}")
    log, other = _answers(records)
    return Answers(
        {**log, "complete": log["complete"] and not may_hide_one(records)},
        {**other, "complete": other["complete"] and not may_hide_one(records, is_word)},
    )


def may_hide_one(records: Iterable[Record], is_wanted: "Callable[[str], bool] | None" = None) -> bool:
    """Whether syslog(2) may have hidden a relevant record: two of one microsecond look like one of two lines."""
    is_relevant = is_wanted or _KEPT.match
    return any(is_relevant(line) for record in records for line in record.message.split("\n")[1:])


def _device(root: Root) -> "Answers | Unread":
    try:
        descriptor = root.open_device(KMSG, *KMSG_NUMBERS, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return Unread("error", f"{KMSG} is not there: give the container the host's /dev")  # every kernel has one
    except OSError as error:
        # Containers may have /dev/null or a terminal under this name, which would read as a log without faults.
        is_other = error.errno == errno.ENXIO
        return Unread("error", f"{KMSG} is not the kernel's log: give the container the host's /dev") if is_other else unread(error, KMSG)
    try:
        is_made = stat.S_ISREG(os.fstat(descriptor).st_mode)  # of a simulated tree
        data = _all(descriptor, _MAX_MADE_BYTES if is_made else _MAX_BYTES)
        return data if isinstance(data, Unread) else _answers(parse_kmsg(data))
    except OSError as error:
        return unread(error, KMSG)
    finally:
        os.close(descriptor)


def _all(descriptor: int, most: int) -> "bytes | Unread":
    """All current records. One read(2) of the device returns one record; EPIPE means that some were overwritten."""
    chunks: list[bytes] = []
    size, ends = 0, time.monotonic() + _MAX_S
    while size <= most:
        if time.monotonic() > ends:
            return Unread("timeout", f"{KMSG}: no end in {_MAX_S:g} s")
        try:
            chunk = os.read(descriptor, 65536)
        except BlockingIOError:
            break
        except OSError as error:
            if error.errno == errno.EPIPE:
                continue
            raise
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    return Unread("error", f"{KMSG} has more than {most} bytes") if size > most else b"".join(chunks)


def system_call() -> "bytes | Unread":
    """The whole ring buffer by syslog(2)."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    size = libc.klogctl(10, None, 0)  # SYSLOG_ACTION_SIZE_BUFFER: of the messages alone, the prefixes come on top
    buffer = ctypes.create_string_buffer(min(2 * max(size, 0) + 1, _MAX_BYTES))
    length = libc.klogctl(3, buffer, len(buffer)) if size > 0 else -1  # SYSLOG_ACTION_READ_ALL
    if length < 0:
        return unread(OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno())), "syslog(2)")
    return buffer.raw[:length]


def parse_kmsg(data: bytes) -> Iterator[Record]:
    r"""The kernel's own records of /dev/kmsg (Linux kernel, Documentation/ABI/testing/dev-kmsg).

    The lower three bits of the first number are the priority, the others the facility: 0 is the kernel. Lines that begin with a
    blank belong to the record before them. Unprintable bytes and the backslash are escaped as ``\xNN``. A record with a flag continues
    an earlier line.

    >>> text = b'6,339,5140900,-,caller=T1;NVRM: a\\x0ab \\x5cx0a\n DEVICE=+pci:0\n12,340,5140901,-;NVRM: by a user\n'
    >>> list(parse_kmsg(text))
    [Record(seconds=5.1409, message='NVRM: a\nb \\x0a', caller='T1')]
    """
    for line in BytesIO(data):
        prefix, semicolon, message = line.rstrip(b"\n").partition(b";")
        priority, _, microseconds, flag, caller = (*prefix[:200].split(b","), b"", b"", b"", b"")[:5]
        if semicolon and microseconds.isdigit() and priority.isdigit() and int(priority) >> 3 == 0 and flag == b"-":
            plain = _ESCAPED.sub(lambda found: bytes((int(found[1], 16),)), message) if b"\\" in message else message
            name = caller.removeprefix(b"caller=").decode("ascii", "replace") if caller.startswith(b"caller=") else ""
            yield Record(int(microseconds) / 1e6, plain.decode("utf-8", "replace"), name)


def parse_syslog(data: bytes) -> Iterator[Record]:
    r"""The kernel's own records of syslog(2), ``SYSLOG_ACTION_READ_ALL``; raises ``ValueError``.

    Each line of a message has the prefix of its record: consecutive lines with one prefix are one record.

    >>> list(parse_syslog(b"<6>[    5.140900] NVRM: a\n<6>[    5.140900] b\n<12>[    5.140901] NVRM: by a user\n"))
    [Record(seconds=5.1409, message='NVRM: a\nb', caller='')]
    """
    for prefix, lines in groupby((_prefixed(line) for line in BytesIO(data) if line != b"\n"), itemgetter(0)):
        priority, _, at = prefix.partition(b"[")
        if int(priority[1:-1]) >> 3 == 0:
            name = found[1].decode("ascii") if (found := _CALLER.search(prefix)) else ""
            yield Record(float(at.partition(b"]")[0]), b"\n".join(line for _, line in lines).decode("utf-8", "replace"), name)


def _prefixed(line: bytes) -> tuple[bytes, bytes]:
    found = _PREFIX.match(line)
    if not found:  # such as with printk.time off
        raise ValueError(f"found {line[:40]!r}, wanted a time: lines without one are not told apart from records")
    return found[0], line[found.end() :].rstrip(b"\n")


def parse_journal(text: str) -> Iterator[Record]:
    r"""The kernel's own records of ``journalctl -o json``, one object per line; raises ``ValueError``.

    A message that is not UTF-8, or has unprintable characters, is an array of its bytes.

    >>> list(parse_journal('{"MESSAGE":"NVRM: a\\nb","SYSLOG_FACILITY":"0","_SOURCE_MONOTONIC_TIMESTAMP":"5140900"}\n'))
    [Record(seconds=5.1409, message='NVRM: a\nb', caller='')]
    >>> list(parse_journal('{"MESSAGE":[78,27],"SYSLOG_FACILITY":"0","__MONOTONIC_TIMESTAMP":"5140900"}'))
    [Record(seconds=5.1409, message='N\x1b', caller='')]
    """
    for line in StringIO(text):
        try:
            entry = json.loads(line)
            if entry.get("SYSLOG_FACILITY") == "0":
                at = entry.get("_SOURCE_MONOTONIC_TIMESTAMP") or entry["__MONOTONIC_TIMESTAMP"]
                message = entry.get("MESSAGE")
                content = bytes(message).decode("utf-8", "replace") if isinstance(message, list) else str(message)
                yield Record(int(at[:20]) / 1e6, content)
        except (LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"found {line[:40]!r}, wanted an entry of the journal") from error


def is_kept(message: str) -> bool:
    """Whether a reader uses such a record."""
    return bool(_KEPT.match(message)) and not _FIRST.match(message)


def is_of_link(message: str) -> bool:
    """Whether a driver of a network card or a bond logs that a link went down or up. A node with pods logs much else of interfaces."""
    return any(word in message for word in LINK_WORDS) and bool(_link().match(message))


@lru_cache(maxsize=1)
def _link() -> "re.Pattern[str]":
    return re.compile(LINK)


def is_word(message: str) -> bool:
    """Whether a reader of `kernel_words` uses such a record."""
    return bool(_WORDS.match(message)) and not _FIRST.match(message)


def _of_log(records: Iterable[Record]) -> Answer:
    return _answers(records).kernel_log


def _of_words(records: Iterable[Record]) -> Answer:
    return _answers(records).kernel_words


def _answers(records: Iterable[Record]) -> Answers:
    """Both answers from records. ``oldest`` is the first record of /dev/kmsg or syslog(2), or the first relevant one of the journal."""
    oldest: float | None = None
    has_first = False
    log, other = list[Record](), list[Record]()
    for record in records:
        oldest = record.seconds if oldest is None else oldest
        if _FIRST.match(record.message):
            has_first = True
            continue
        if _KEPT.match(record.message):
            log.append(record._replace(message=record.message[:MESSAGE]))
        if _WORDS.match(record.message):
            other.append(record._replace(message=record.message[:MESSAGE]))
    return Answers(
        _answer(thinned(log), oldest, line_of, is_complete=has_first),
        _answer(thinned(other, kind_of_word), oldest, word_of, is_complete=has_first),
    )


def _answer(records: list[Record], oldest: "float | None", line: Callable[[Record], list[Any]], *, is_complete: bool) -> dict[str, Any]:
    return {
        "lines": [line(record) for record in records[-_MOST:]],
        "complete": is_complete and len(records) <= _MOST,
        "oldest": oldest,
    }


def line_of(record: Record) -> list[Any]:
    return [record.seconds, record.message]


def word_of(record: Record) -> list[Any]:
    return [record.seconds, record.caller, record.message]


def kind_of_line(message: str) -> object:
    return (message.partition(",")[0], "Fatal" in message, "Nonfatal" in message)


def kind_of_word(message: str) -> object:
    return _NUMBERS.sub("#", message[:200])


def thinned(lines: list[Record], kind_of: Callable[[str], object] = kind_of_line) -> list[Record]:
    """If more than `_MOST`, only the newest of each kind: a fault that repeats endlessly must not hide others."""
    if len(lines) <= _MOST:
        return lines
    seen: Counter[object] = Counter()
    newest = []
    for record in reversed(lines):
        kind = kind_of(record.message)
        seen[kind] += 1
        if seen[kind] <= _MOST_OF_A_KIND:
            newest.append(record)
    return newest[::-1]
