"""What the kernel log of this boot says about GPUs and NVSwitches."""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hostagent.collect.kernel.log import read_kernel_log
from hostagent.facts.gpu import GpuEvents, InitFailure, Xid
from hostagent.facts.unread import Unread
from hostagent.knowledge import kernellog
from hostagent.source import Source

_XID, _SXID, _OF_XID = re.compile(kernellog.XID), re.compile(kernellog.SXID), re.compile(kernellog.OF_XID)
_GPU, _HEAD = re.compile(kernellog.GPU), re.compile(kernellog.HEAD)
_OFF_XID = 79
_FATAL = " Fatal"
_LINE = 512


class Events(NamedTuple):
    """The facts of `GpuEvents` that lines alone give."""

    xids: tuple[Xid, ...]
    sxids: tuple[Xid, ...]
    init_failures: tuple[InitFailure, ...]


def read_events(source: Source, known: Callable[[type], Any]) -> GpuEvents:
    log = read_kernel_log(source)
    return GpuEvents(log, log, log, log) if isinstance(log, Unread) else GpuEvents(*parse_events(log.lines), log.complete)


def parse_events(lines: Iterable[str]) -> Events:
    """Xid, SXid and initialisation records, gathered by device and code, in the order in which each began.

    >>> parse_events(["NVRM: Xid (PCI:0000:1b:00): 79, pid=4, GPU has fallen off the bus."]).xids
    (Xid(pci='0000:1b:00.0', code=79, line='NVRM: Xid (PCI:0000:1b:00): 79, pid=4, GPU has fallen off the bus.', count=1),)
    >>> parse_events(["nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress"]).sxids[0].code
    12028
    >>> parse_events(["NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x40:2028)"]).init_failures[0].kind
    'adapter'
    """
    xids: dict[tuple[str, int], Xid] = {}
    sxids: dict[tuple[str, int], Xid] = {}
    failures: dict[tuple[str, str], InitFailure] = {}
    last_gpu = ""  # a message of several lines names the GPU in its first one
    for text in (line[:_LINE] for line in lines):
        line = " ".join(text.split("\n")).strip()
        gpu = _address(_GPU.match(text))
        last_gpu = gpu or last_gpu
        mark = _XID.match(text) or _SXID.match(text)
        if mark:
            match = _OF_XID.match(text, mark.end())
            _count(sxids if mark.re is _SXID else xids, _address(match), int(match[3]) if match else 0, line)
        elif (gpu and kernellog.GONE in text) or text.startswith(kernellog.STILL_GONE):
            if (gpu or last_gpu, _OFF_XID) not in xids:  # else the message that goes with the Xid's own line
                _count(xids, gpu or last_gpu, _OFF_XID, line)
        elif kind := _init_failure(text):
            failures[gpu, kind] = InitFailure(gpu, kind, line)
    return Events(tuple(xids.values()), tuple(sxids.values()), tuple(failures.values()))


def _init_failure(text: str) -> str:
    """The kind of failure that a record tells of, "" for none.

    >>> _init_failure("NVRM: GPU0 RmInitAdapter: Cannot initialize GSP firmware RM"), _init_failure("NVRM: a[1]: RmInitAdapter failed")
    ('gsp', '')
    """
    head = _HEAD.match(text)
    if not head:
        return "firmware" if re.match(kernellog.FIRMWARE, text) else ""
    function, words = (head["function"] or "").lstrip("_"), text[head.end() :]
    return next(
        (
            one.kind
            for one in kernellog.INIT_FAILURES
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


def _count(into: dict[tuple[str, int], Xid], pci: str, code: int, line: str) -> None:
    before = into.get((pci, code))
    if before and _FATAL in before.line and _FATAL not in line:
        line = before.line
    into[pci, code] = Xid(pci, code, line, before.count + 1 if before else 1)
