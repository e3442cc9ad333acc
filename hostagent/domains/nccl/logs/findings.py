"""Further findings in a log, each with its lines and a remedy."""

import re
from collections.abc import Iterable, Iterator

from hostagent.core.escape import visible
from hostagent.core.frozen import frozen
from hostagent.core.steps import Step
from hostagent.core.vocabulary import Action
from hostagent.domains.nccl.logs.log_state import LogState
from hostagent.domains.nccl.logs.records import Record
from hostagent.domains.nccl.logs.verdict import Judged, forced
from hostagent.domains.nccl.tables.causes import CAUSES, LOOK, PATH, PORTS
from hostagent.domains.nccl.tables.logs import LAZY_SINCE, SOCKET_TYPES, VIRTUAL_INTERFACES, WRONG_TYPE, Status, kind_of

_LINES, _WIDTH = 5, 400
_STATUS = re.compile(r"(?:with (?:error|status)[ =]|status=)(?:IBV_WC_)?(?:([A-Z_]+)\()?(\d{1,3})")
_VENDOR = re.compile(r"vendor[ _]err[ =](\d{1,5})")
_MTU = re.compile(r"NET/IB ?: .*\bmtu ([1-5])\b")
_AWS_HOST = re.compile(r"ip-\d+-\d+-\d+-\d+")
_CAUSES = tuple((cause, re.compile(cause.pattern)) for cause in CAUSES)
#: Relevant only where RDMA is not used.
_OF_TCP = frozenset({"no_hca", "verbs_absent"})


@frozen
class Line:
    """A line of a log; its text is made visible."""

    file: str
    """The file, - for standard input."""
    line: int
    """The number of the line, from 1 on."""
    text: str
    """Its text from the host's name on, with what does not print as its escape."""


@frozen
class Finding:
    """One finding in a log; the first one of an explanation is the verdict's own."""

    code: str
    """What it is: stable, for programs."""
    headline: str
    """What happened, in one sentence."""
    message: str
    """Why, for people. It may change from release to release."""
    action: Action
    """The action of its first step."""
    remedy: tuple[Step, ...]
    """What to do about it, in steps."""
    lines: tuple[Line, ...]
    """Lines of the log that show it, the first five."""


def shown(records: Iterable[Record]) -> tuple[Line, ...]:
    """The first lines, each once."""
    ordered = {(one.file, one.line, one.shown) for one in records}
    return tuple(Line(visible(file), line, visible(text[:_WIDTH])) for file, line, text in sorted(ordered)[:_LINES])


def finding(code: str, headline: str, message: str, steps: tuple[Step, ...], records: Iterable[Record] = ()) -> Finding:
    """With the action of its first step."""
    return Finding(code, headline, message, steps[0].action if steps else "none", steps, shown(records))


def findings(state: LogState, judged: Judged) -> Iterator[Finding]:
    """Causes first, then gaps of the log."""
    if state.libraries:
        return
    yield from _completions(state)
    yield from _mtus(state)
    yield from _interfaces(state, judged)
    yield from _known(state, judged)
    yield from _plugin(state, judged)
    yield from _settings(state, judged)
    yield from _versions(state)
    yield from _gaps(state, judged)


def _known(state: LogState, judged: Judged) -> Iterator[Finding]:
    records = sorted((*state.notes, *state.results), key=lambda one: (one.file, one.line))
    is_tcp = judged.verdict in ("tcp_fallback", "net_socket_nodes_unknown", "unknown") or (
        judged.verdict == "failed" and not judged.size.is_one_node
    )
    for cause, pattern in _CAUSES:
        found = [one for one in records if pattern.search(one.text)]
        if found and (is_tcp or cause.code not in _OF_TCP):
            yield finding(cause.code, cause.headline, _message(cause.code, cause.message, found[0]), cause.steps, found)


def _message(code: str, message: str, record: Record) -> str:
    types = re.match(WRONG_TYPE, record.text) if code == "wrong_type" else None
    if types:
        names = [SOCKET_TYPES.get(number, number) for number in types.groups()]
        return f"{message} One of them expected {names[1]} and met {names[0]}."
    return message


def _completions(state: LogState) -> Iterator[Finding]:
    by_status: dict[str, list[Record]] = {}
    for record in state.notes:
        if record.level == "WARN" and ("completion" in record.text or "vendor" in record.text) and (found := _STATUS.search(record.text)):
            by_status.setdefault(found[2], []).append(record)
    for status, records in sorted(by_status.items(), key=lambda one: (one[0] == Status.FLUSHED, one[0])):
        name, meaning = Status.BY_NUMBER.get(status, ("", "a status that is not in the table"))
        vendor = _VENDOR.search(records[0].text)
        says = f"Status {status}{f' ({name})' if name else ''}{f', vendor error {vendor[1]}' if vendor else ''}: {meaning}."
        if status == Status.RETRY_EXCEEDED:
            yield finding("retry_exceeded", "An HCA got no answer from the other side", says, (PATH, PORTS), records)
        else:
            yield finding("completion_error", "An HCA reports a failed operation", says, (_after(status),), records)


def _after(status: str) -> Step:
    if status == Status.LOCAL_PROTECTION:
        return Step("configure", "Turn ACS off between GPU and NIC, and the IOMMU off or to pass-through.", "lspci -vvv")
    return LOOK if status == Status.FLUSHED else PORTS


def _mtus(state: LogState) -> Iterator[Finding]:
    found: dict[str, Record] = {}
    for record in state.notes:
        if mtu := _MTU.search(record.text):
            found.setdefault(mtu[1], record)
    if len(found) > 1:
        sizes = ", ".join(str(128 << int(mtu)) for mtu in sorted(found))
        yield finding("path_mtu", "Connections have different path MTUs", f"They are {sizes} bytes.", (PATH,), found.values())


def _interfaces(state: LogState, judged: Judged) -> Iterator[Finding]:
    step = Step("configure", "Name an interface that reaches all hosts in NCCL_SOCKET_IFNAME, with = before an exact name.", "ip -br addr")
    lines: dict[str, Record] = {name: record for (_, name, _), record in state.boots.items()}
    loopback = [record for name, record in lines.items() if name == "lo"]
    if loopback and not judged.size.is_one_node:
        yield finding("loopback", "NCCL connects over the loopback interface", "No other host can be reached over it.", (step,), loopback)
    virtual = sorted(name for name in lines if name.startswith(VIRTUAL_INTERFACES))
    if virtual and not judged.size.is_one_node:
        says = f"{', '.join(map(visible, virtual))}: an interface of containers or guests, which other hosts mostly do not reach."
        yield finding("virtual_interface", "NCCL connects over a virtual interface", says, (step,), [lines[name] for name in virtual])


def _plugin(state: LogState, judged: Judged) -> Iterator[Finding]:
    """On EFA, NCCL has no RDMA without the plug-in; elsewhere its absence is usual."""
    absent = [one for one in state.notes if re.match(r"NET/Plugin.*(?:No plugin found|Could not find)", one.text)]
    is_aws = any(_AWS_HOST.match(host) for host in state.hosts)
    named = any(name == "NCCL_NET_PLUGIN" and value != "none" for name, value in state.settings)
    if absent and kind_of(judged.network) == "socket" and (is_aws or named):
        where = "The hosts are named as AWS names them: EFA needs aws-ofi-nccl." if is_aws else "NCCL_NET_PLUGIN names one."
        step = Step("install", "Install the network plug-in into the image, in a directory of LD_LIBRARY_PATH.")
        yield finding("plugin_absent", "The network plug-in is not there", where, (step,), absent)


def _settings(state: LogState, judged: Judged) -> Iterator[Finding]:
    found = forced(state)
    if found and judged.verdict in ("tcp_forced", "intra_node_only"):
        step = Step("configure", "Take the setting out of the job, the image and /etc/nccl.conf, unless TCP is wanted.")
        yield finding("forced", "A setting keeps NCCL from RDMA", "NCCL does what it is told.", (step,), found)
    off = [record for (name, value), record in state.settings.items() if name in ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE") and value == "1"]
    if off:
        step = Step("configure", "Take it out: it is left over from looking for a fault.")
        yield finding("local_disabled", "Fast paths within a host are turned off", "GPUs of one host go a longer way.", (step,), off)
    if judged.gdr in ("no", "mixed") and kind_of(judged.network) != "socket" and judged.verdict == "rdma_no_gdr":
        step = Step("restart_service", "Load nvidia_peermem, or use a kernel and driver with DMA-BUF.", "modprobe nvidia_peermem")
        lines = [record for (_, _, is_on), record in state.capable.items() if not is_on] or judged.proofs
        says = "Its data goes through the host's memory. Why, the host says: 'hostagent check' looks at peer memory, ACS and distances."
        yield finding("gdr_off", "RDMA goes without GPUDirect", says, (step,), lines)


def _versions(state: LogState) -> Iterator[Finding]:
    if len(state.versions) > 1:
        step = Step("install", "Use one image for all ranks.")
        yield finding(
            "version_skew",
            "Ranks have different versions of NCCL",
            f"{', '.join(sorted(state.versions))}.",
            (step,),
            state.versions.values(),
        )


def _gaps(state: LogState, judged: Judged) -> Iterator[Finding]:
    size = judged.size
    if size.ranks and size.ranks_seen < size.ranks:
        says = f"The log has lines of {size.ranks_seen} of {size.ranks} ranks; the others may differ."
        yield finding("few_ranks", "Only some ranks have a log", says, (LOOK,), [state.ranks[size.ranks]])
    if judged.network and not state.channels and not size.is_one_node and judged.verdict != "failed":
        version = version_of(state)
        is_lazy = not version or tuple(int(part) for part in version.split(".")[:2]) >= LAZY_SINCE
        says = (
            "From NCCL 2.22 on, connections are made at the first collective: let the job run that far."
            if is_lazy
            else "The log ends before."
        )
        yield finding("no_channels", "No channel over the network is in the log", says, (LOOK,))


def version_of(state: LogState) -> str:
    """The version of NCCL, "" where there is none or several."""
    return next(iter(state.versions)) if len(state.versions) == 1 else ""
