"""What a single record says: the texts of NCCL 2.4 to 2.32 and of its plug-ins."""

import re
from collections.abc import Callable

from hostagent.domains.nccl.logs.log_state import FEW, MOST, Channel, Process, Seen, Suspect, few, first
from hostagent.domains.nccl.logs.records import Record
from hostagent.domains.nccl.tables.logs import BENIGN, BENIGN_TRACES, BIND_FAILED, CHANNEL_TAIL, OFI_FAILED, WRONG_TYPE

_NETWORK = re.compile(r"Using network ([A-Za-z][\w .+-]{0,60})$")
_ASSIGNED = re.compile(r"Assigned NET plugin ([A-Za-z][\w .+-]{0,60}) to comm")
_CHANNEL = re.compile(
    r"(?:Channel|Ring) \d+(?:/\d+)? : (?P<a>\d{1,7})(?:\[(?P<x>\w{1,12})\])? -> (?P<b>\d{1,7})(?:\[(?P<y>\w{1,12})\])? "
    rf"(?:\[(?P<way>send|receive)\] )?via NET/(?P<net>[A-Za-z][\w .+-]{{0,60}}?){CHANNEL_TAIL}$"
)
_DEVICE = re.compile(r"/(\d+)(?:\(\d+\))?(?:/GDRDMA)?(?:\(PCI\))?(?:/Shared)?$")
_LOCAL = re.compile(r"(?:Channel|Ring) \d+(?:/\d+)? : \d+(?:\[\w+\])? -> \d+(?:\[\w+\])? via (P2P/[A-Za-z]+|SHM/|direct shared memory)")
_RANK = re.compile(r"\bcomm 0x[0-9a-f]+ rank (\d{1,7}) n[Rr]anks (\d{1,7}) (?:nNodes (\d{1,7}) l)?")
_BOOT = re.compile(r"Bootstrap ?: Using (?:\[\d+\])?([\w.@-]+):([0-9a-fA-F.:%\w]+?)<\d+>")
_HCA = re.compile(r"([\w.+-]{1,64}:\d+)/(?:IB|RoCE|[A-Z]\w*)")
_IB_LIST = re.compile(r"NET/(IB\w*|gIB) ?: Using ?(\[.*?|)(?: ?\[RO\])? ?;? ?OOB ([\w.@-]+):([0-9a-fA-F.:%\w]+?)<\d+>")
_SOCKETS = re.compile(r"NET/Socket : Using (\[\d+\].*)")
_INTERFACE = re.compile(r"\[\d+\]([\w.@-]+):([0-9a-fA-F.:%\w]+?)<\d+>")
_CAPABLE = re.compile(r"NET/([\w .+-]+) : GPU Direct RDMA (Enabled|Disabled)(?: \(no module\))? for HCA \d+ '([^']+)'")
_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is ([\w;-]+)(?:,| \()")
_LOADED = re.compile(r"NET/Plugin: Loaded net plugin ([A-Za-z][\w .+-]*?) \(v\d+\)")
_SET = re.compile(r"(NCCL_\w+) set (?:by environment )?to (.+?)\.?$")
_TRACE = re.compile(r"([\w./-]+):\d+ (?:\([^)]*\) )?-> ([1-6])(?!\d)")
_COMPLETE = "Init COMPLETE"
_BENIGN = tuple(map(re.compile, BENIGN.values()))
_BIND, _OFI, _WRONG = (re.compile(pattern) for pattern in (BIND_FAILED, OFI_FAILED, WRONG_TYPE))
_RAS = "RAS failed to establish"


def take(seen: Seen, record: Record) -> None:
    """One record, in any order."""
    seen.records += record.level in ("INFO", "WARN")
    if record.host and len(seen.hosts) < MOST:
        seen.hosts.setdefault(record.host, set()).add(record.pid)
    if record.level == "WARN":
        _warned(seen, record)
    elif record.level == "INFO" and record.end != "cut":
        _informed(seen, record)
    elif record.level == "VERSION" and record.end == "whole":
        first(seen.versions, record.text.split()[2].partition("+")[0], record)
    elif record.level in ("LIBRARY", "WORD"):
        first(seen.libraries if record.level == "LIBRARY" else seen.words, record.text, record)
    elif not record.level:
        few(seen.results, record)


def _warned(seen: Seen, record: Record) -> None:
    text = record.text
    if _is_shortened(record):
        return
    if text.startswith(_RAS):
        _lives(seen, "ras", record)
    if any(pattern.match(text) for pattern in _BENIGN):
        _note(seen, record)
        return
    process = Process(record.host, record.pid)
    if _WRONG.match(text):
        few(seen.wrong_types, record)
    elif _BIND.match(text) or _OFI.match(text):
        if len(seen.suspects) < FEW:
            seen.suspects.append(Suspect("bind" if _BIND.match(text) else "ofi", process, record))
    else:
        few(seen.warnings, record)
    _note(seen, record)


def _is_shortened(record: Record) -> bool:
    """Whether so little is left of a warning that it may be one of those that end nothing."""
    return not record.text or (len(record.text) < 60 and any(head.startswith(record.text) for head in BENIGN))


def _informed(seen: Seen, record: Record) -> None:
    text = record.text
    for head, read in _READERS:
        if text.startswith(head):
            read(seen, record)
            break
    else:
        _other(seen, record)


def _lives(seen: Seen, kind: str, record: Record) -> None:
    key, place = (kind, Process(record.host, record.pid)), (record.file, record.line)
    if key in seen.went_on or len(seen.went_on) < MOST:
        seen.went_on[key] = max(place, seen.went_on.get(key, place))


def _note(seen: Seen, record: Record) -> None:
    """For the findings; the same text of other ranks once."""
    if len(seen.notes) < 2000 and record.text not in seen.noted:
        seen.noted.add(record.text)
        seen.notes.append(record)


def _network(seen: Seen, record: Record) -> None:
    if found := _NETWORK.match(record.text):
        first(seen.networks if record.end == "whole" else seen.glued_networks, found[1].strip(), record)
        _lives(seen, "network", record)


def _assigned(seen: Seen, record: Record) -> None:
    if found := _ASSIGNED.match(record.text):
        first(seen.networks, found[1].strip(), record)


def _channel(seen: Seen, record: Record) -> None:
    found = _CHANNEL.match(record.text)
    if not found:
        if local := _LOCAL.match(record.text):
            first(seen.local, local[1].partition("/")[0], record)
        return
    receives = found["way"] == "receive"
    rank, gpu = (found["b"], found["y"]) if receives else (found["a"], found["x"])
    device = _DEVICE.search(record.text)
    channel = Channel(int(rank), record.host, gpu or "", found["net"].strip(), device[1] if device else "", bool(found["gdr"]))
    # Without a line's end, GPUDirect may have been cut away; what says it was there.
    first(seen.channels if channel.gdr or record.end == "whole" else seen.glued_channels, channel, record)


def _bootstrap(seen: Seen, record: Record) -> None:
    if found := _BOOT.match(record.text):
        first(seen.boots, (record.host, found[1], found[2]), record)
    _note(seen, record)


def _net(seen: Seen, record: Record) -> None:
    text = record.text
    if (found := _IB_LIST.match(text)) and record.end == "whole":
        for device in _HCA.findall(found[2]):
            first(seen.hcas, (record.host, device), record)
        if len(seen.addresses) < MOST:
            seen.addresses.add((record.host, found[4]))
    elif (found := _SOCKETS.match(text)) and record.end == "whole":
        for number, (name, address) in enumerate(_INTERFACE.findall(found[1])):
            first(seen.interfaces, name, record)
            if number == 0 and len(seen.addresses) < MOST:
                seen.addresses.add((record.host, address))
    elif found := _CAPABLE.match(text):
        first(seen.capable, (record.host, found[3], found[2] == "Enabled"), record)
    elif found := _PROVIDER.match(text):
        first(seen.providers, found[1].lower(), record)
    elif found := _LOADED.match(text):
        first(seen.plugins, found[1], record)
    _note(seen, record)


def _setting(seen: Seen, record: Record) -> None:
    if (found := _SET.match(record.text)) and record.end == "whole":
        first(seen.settings, (found[1], found[2].strip()[:200]), record)


def _other(seen: Seen, record: Record) -> None:
    """A communicator, a trace of an error, or something for the findings alone."""
    text = record.text
    if found := _RANK.search(text):
        rank, size = int(found[1]), int(found[2])
        if size in seen.sizes or len(seen.sizes) < 1000:
            seen.sizes.setdefault(size, set()).add(rank)
            first(seen.ranks, size, record)
        if found[3]:
            first(seen.nodes, int(found[3]), record)
        if _COMPLETE in text:
            _lives(seen, "complete", record)
        return
    if (trace := _TRACE.match(text)) and not trace[1].startswith(BENIGN_TRACES):
        few(seen.traces, record)
        return
    _note(seen, record)


_READERS: tuple[tuple[tuple[str, ...], Callable[[Seen, Record], None]], ...] = (
    (("Channel ", "Ring "), _channel),
    (("NET/",), _net),
    (("Using network ",), _network),
    (("Assigned NET ",), _assigned),
    (("Bootstrap",), _bootstrap),
    (("NCCL_",), _setting),
)
