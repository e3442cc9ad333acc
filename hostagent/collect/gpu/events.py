"""What the kernel log of this boot says about GPUs and NVSwitches."""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hostagent.collect.kernel.log import read_kernel_log
from hostagent.facts.gpu import GpuEvents, InitFailure, Xid
from hostagent.facts.unread import Unread
from hostagent.source import Source

# The parenthesis holds the address, and on a MIG GPU "GPU-I:05 GPU-CI:02" too (open-gpu-kernel-modules, kernel_rc.c).
_ADDRESS = r"(?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(\.[0-7])?"
_XID = re.compile(rf"\bS?Xid \({_ADDRESS}[^)]{{0,60}}\)[^:]{{0,40}}: (\d{{1,6}})\b")
_XID_MARK = re.compile(r"\b(S?)Xid \(")
_GPU = re.compile(rf"(?:GPU(?: at)?|nvidia) {_ADDRESS}(?=\b)")
_OFF = "fallen off the bus"
_OFF_XID = 79
_INIT = (
    ("firmware", re.compile(r"firmware load for nvidia/\S{1,200} failed|RmFetchGspRmImages")),
    ("wpr2", re.compile(r"unexpected WPR2 already up")),
    ("gsp", re.compile(r"Cannot initialize GSP firmware RM|kgspInitRm\w{0,40}: .{0,200}fail")),
    ("adapter", re.compile(r"RmInitAdapter failed|rm_init_adapter\S{0,20} failed")),
)
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
    """Xid, SXid and initialisation lines, gathered by device and code, in the order in which each began.

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
    for line in _split(lines):
        gpu = _address(_GPU.search(line))
        last_gpu = gpu or last_gpu
        mark = _XID_MARK.search(line)
        if mark:
            match = _XID.search(line)
            _count(sxids if mark[1] else xids, _address(match), int(match[3]) if match else 0, line)
        elif _OFF in line and "NVRM" in line:
            if (gpu or last_gpu, _OFF_XID) not in xids:  # else the message that goes with the Xid's own line
                _count(xids, gpu or last_gpu, _OFF_XID, line)
        else:
            kind = next((name for name, pattern in _INIT if pattern.search(line)), "")
            if kind:
                failures[gpu, kind] = InitFailure(gpu, kind, line)
    return Events(tuple(xids.values()), tuple(sxids.values()), tuple(failures.values()))


def _split(lines: Iterable[str]) -> Iterable[str]:
    """The kernel's log device writes a line break within a message as a backslash and ``x0a``."""
    for line in lines:
        for part in line.replace("\\x0a", "\n").splitlines():
            yield part[:_LINE].strip()


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
