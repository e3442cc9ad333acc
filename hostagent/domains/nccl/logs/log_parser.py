"""Parses single records into `LogState`: the texts of NCCL 2.4 to 2.32 and of its plug-ins."""

import re
from collections.abc import Callable

from hostagent.domains.nccl.logs.log_state import FEW, MOST, Channel, LogState, Process, Suspect, few, first
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


def take(state: LogState, record: Record) -> None:
    """Adds one record to the state; records may come in any order."""
    state.records += record.level in ("INFO", "WARN")
    if record.host and len(state.hosts) < MOST:
        state.hosts.setdefault(record.host, set()).add(record.pid)
    if record.level == "WARN":
        _warned(state, record)
    elif record.level == "INFO" and record.end != "cut":
        _informed(state, record)
    elif record.level == "VERSION" and record.end == "whole":
        first(state.versions, record.text.split()[2].partition("+")[0], record)
    elif record.level in ("LIBRARY", "WORD"):
        first(state.libraries if record.level == "LIBRARY" else state.words, record.text, record)
    elif not record.level:
        few(state.results, record)


def _warned(state: LogState, record: Record) -> None:
    text = record.text
    if _is_shortened(record):
        return
    if text.startswith(_RAS):
        _lives(state, "ras", record)
    if any(pattern.match(text) for pattern in _BENIGN):
        _note(state, record)
        return
    process = Process(record.host, record.pid)
    if _WRONG.match(text):
        few(state.wrong_types, record)
    elif _BIND.match(text) or _OFI.match(text):
        if len(state.suspects) < FEW:
            state.suspects.append(Suspect("bind" if _BIND.match(text) else "ofi", process, record))
    else:
        few(state.warnings, record)
    _note(state, record)


def _is_shortened(record: Record) -> bool:
    """Whether a warning was cut so short that it may be one of the harmless ones."""
    return not record.text or (len(record.text) < 60 and any(head.startswith(record.text) for head in BENIGN))


def _informed(state: LogState, record: Record) -> None:
    text = record.text
    for head, read in _READERS:
        if text.startswith(head):
            read(state, record)
            break
    else:
        _other(state, record)


def _lives(state: LogState, kind: str, record: Record) -> None:
    key, place = (kind, Process(record.host, record.pid)), (record.file, record.line)
    if key in state.went_on or len(state.went_on) < MOST:
        state.went_on[key] = max(place, state.went_on.get(key, place))


def _note(state: LogState, record: Record) -> None:
    """Keeps a record for the findings; a text that several ranks wrote is kept once."""
    if len(state.notes) < 2000 and record.text not in state.noted:
        state.noted.add(record.text)
        state.notes.append(record)


def _network(state: LogState, record: Record) -> None:
    if found := _NETWORK.match(record.text):
        first(state.networks if record.end == "whole" else state.glued_networks, found[1].strip(), record)
        _lives(state, "network", record)


def _assigned(state: LogState, record: Record) -> None:
    if found := _ASSIGNED.match(record.text):
        first(state.networks, found[1].strip(), record)


def _channel(state: LogState, record: Record) -> None:
    found = _CHANNEL.match(record.text)
    if not found:
        if local := _LOCAL.match(record.text):
            first(state.local, local[1].partition("/")[0], record)
        return
    receives = found["way"] == "receive"
    rank, gpu = (found["b"], found["y"]) if receives else (found["a"], found["x"])
    device = _DEVICE.search(record.text)
    channel = Channel(int(rank), record.host, gpu or "", found["net"].strip(), device[1] if device else "", bool(found["gdr"]))
    # Without the end of the line, /GDRDMA may have been cut away; where present, it counts.
    first(state.channels if channel.gdr or record.end == "whole" else state.glued_channels, channel, record)


def _bootstrap(state: LogState, record: Record) -> None:
    if found := _BOOT.match(record.text):
        first(state.boots, (record.host, found[1], found[2]), record)
    _note(state, record)


def _net(state: LogState, record: Record) -> None:
    text = record.text
    if (found := _IB_LIST.match(text)) and record.end == "whole":
        for device in _HCA.findall(found[2]):
            first(state.hcas, (record.host, device), record)
        if len(state.addresses) < MOST:
            state.addresses.add((record.host, found[4]))
    elif (found := _SOCKETS.match(text)) and record.end == "whole":
        for number, (name, address) in enumerate(_INTERFACE.findall(found[1])):
            first(state.interfaces, name, record)
            if number == 0 and len(state.addresses) < MOST:
                state.addresses.add((record.host, address))
    elif found := _CAPABLE.match(text):
        first(state.capable, (record.host, found[3], found[2] == "Enabled"), record)
    elif found := _PROVIDER.match(text):
        first(state.providers, found[1].lower(), record)
    elif found := _LOADED.match(text):
        first(state.plugins, found[1], record)
    _note(state, record)


def _setting(state: LogState, record: Record) -> None:
    if (found := _SET.match(record.text)) and record.end == "whole":
        first(state.settings, (found[1], found[2].strip()[:200]), record)


def _other(state: LogState, record: Record) -> None:
    """A communicator, a trace of an error, or a record for the findings only."""
    text = record.text
    if found := _RANK.search(text):
        rank, size = int(found[1]), int(found[2])
        if size in state.sizes or len(state.sizes) < 1000:
            state.sizes.setdefault(size, set()).add(rank)
            first(state.ranks, size, record)
        if found[3]:
            first(state.nodes, int(found[3]), record)
        if _COMPLETE in text:
            _lives(state, "complete", record)
        return
    if (trace := _TRACE.match(text)) and not trace[1].startswith(BENIGN_TRACES):
        few(state.traces, record)
        return
    _note(state, record)


_READERS: tuple[tuple[tuple[str, ...], Callable[[LogState, Record], None]], ...] = (
    (("Channel ", "Ring "), _channel),
    (("NET/",), _net),
    (("Using network ",), _network),
    (("Assigned NET ",), _assigned),
    (("Bootstrap",), _bootstrap),
    (("NCCL_",), _setting),
)
