"""The network that a job used, by the first rule that holds, with the lines that prove it."""

# `wrong type X != Y` makes *mixed*; with an error trace or result text it is *failed*, the first rule. A version that NCCL calls
# mismatched is *failed*, versions that merely differ are *mixed*. GPUDirect-TCPX prints `/GDRDMA` and is tcp_plugin all the same;
# channels of an unknown plug-in with it are rdma_gdr.

import re
from collections.abc import Iterable
from typing import NamedTuple

from hostagent.core.vocabulary import Gdr, NcclVerdict
from hostagent.domains.nccl.logs.log_state import Channel, LogState, Process, Suspect
from hostagent.domains.nccl.logs.records import Record
from hostagent.domains.nccl.tables.logs import FORCING, RDMA_PROVIDERS, TCP_PROVIDERS, kind_of

_PROOFS = 5


class Size(NamedTuple):
    """The size of the job by its log; 0 is unknown."""

    nodes: int
    hosts: int  # that wrote something
    ranks: int
    ranks_seen: int

    @property
    def is_one_node(self) -> bool:
        return self.nodes == 1 or self.ranks == 1


class Judged(NamedTuple):
    """The verdict and its proofs."""

    verdict: NcclVerdict
    why: str
    proofs: tuple[Record, ...]
    network: str
    gdr: Gdr
    size: Size


def judge(state: LogState) -> Judged:
    """The verdict on the log of one job."""
    channels, size = _channels(state), _size(state)
    network, gdr = _network(state, channels), _gdr(channels)

    def judged(verdict: NcclVerdict, why: str, proofs: Iterable[Record] = (), direct: Gdr = gdr, name: str = network) -> Judged:
        ordered = sorted({(one.file, one.line, one.text): one for one in proofs}.items())
        return Judged(verdict, why, tuple(one for _, one in ordered[:_PROOFS]), name, direct, size)

    if others := state.libraries or ({} if state.records else state.words):
        names = ", ".join(sorted(others))
        return judged("unknown", f"These are the lines of {names}, not of NCCL.", others.values(), "unknown", names)
    fatal = _fatal(state)
    if fatal:
        return judged("failed", "NCCL or the program above it reports an error.", fatal)
    if differs := _mixed(state, channels):
        return judged("mixed", differs[0], differs[1])
    if channels:
        return judged(*_by_channels(state, channels), direct=_gdr_over(network, gdr))
    is_local = bool(state.local) and size.hosts <= 1 and size.nodes <= 1 and (not size.ranks or size.ranks_seen >= size.ranks)
    if network and not (is_local and not size.is_one_node):
        return judged(*_by_choice(state, network, size))
    if is_local:
        return judged("intra_node_only", "All channels stay within one host: P2P or shared memory.", state.local.values())
    return judged("unknown", "No line says which network NCCL chose, and no channel over a network is in the log.")


def _channels(state: LogState) -> dict[Channel, Record]:
    """All over the network. One that the next record may have cut counts as one without GPUDirect only where none has it."""
    found = dict(state.channels)
    for channel, record in state.glued_channels.items():
        has_gdr = any(one.gdr for one in state.channels if one.network == channel.network)
        if not has_gdr or kind_of(channel.network) == "socket":
            found[channel] = record
    return found


def _gdr(channels: Iterable[Channel]) -> Gdr:
    ways = {one.gdr for one in channels}
    return "unknown" if not ways else "mixed" if len(ways) > 1 else "yes" if True in ways else "no"


def _gdr_over(network: str, gdr: Gdr) -> Gdr:
    return "no" if kind_of(network) == "socket" else gdr


def hosts(state: LogState) -> dict[str, set[str]]:
    """Hosts with their addresses. A name that is the end of another one, of the same processes, is that name cut."""
    ends = ((other[at:], other) for other in state.hosts for at in range(1, len(other)))
    cut = {end for end, other in ends if end in state.hosts and state.hosts[end] <= state.hosts[other]}
    found: dict[str, set[str]] = {name: set() for name in state.hosts if name not in cut}
    booted = {name for name, _, _ in state.boots}
    for name, _, address in state.boots:
        if name in found:
            found[name].add(address)
    for name, address in state.addresses:
        if name in found and name not in booted:
            found[name].add(address)
    return found


def _size(state: LogState) -> Size:
    ranks = max(state.sizes, default=0)
    ranks_seen = len(state.sizes[ranks]) if ranks else 0
    number = sum(max(1, len(addresses)) for addresses in hosts(state).values())
    nodes = max(state.nodes, default=0) or (number if ranks and ranks_seen >= ranks else 0)
    if not ranks:
        ranks_seen = len({one.rank for one in state.channels})
    return Size(nodes, number, ranks, ranks_seen)


def _fatal(state: LogState) -> list[Record]:
    suspects = [one.record for one in state.suspects if not _went_on(state, one)]
    return [*state.warnings, *suspects, *state.results, *state.traces]


def _went_on(state: LogState, suspect: Suspect) -> bool:
    """Whether the same process goes on after the warning."""
    place = (suspect.record.file, suspect.record.line)
    kinds = ("ras", "complete", "network") if suspect.kind == "bind" else ("network",)
    return any(_after(state, kind, suspect.process, place) for kind in kinds)


def _after(state: LogState, kind: str, process: Process, place: tuple[str, int]) -> bool:
    return state.went_on.get((kind, process), ("", 0)) >= place


def _mixed(state: LogState, channels: dict[Channel, Record]) -> tuple[str, list[Record]] | None:
    if state.wrong_types:
        return "Ranks with different networks met: one expects another kind of connection.", state.wrong_types
    names = dict(state.networks)
    for channel, record in channels.items():
        names.setdefault(channel.network, record)
    if len(names) > 1:
        return f"Ranks use different networks: {', '.join(sorted(names))}.", [*names.values()]
    if len(state.versions) > 1:
        return f"Ranks have different versions of NCCL: {', '.join(sorted(state.versions))}.", [*state.versions.values()]
    return None


def _network(state: LogState, channels: dict[Channel, Record]) -> str:
    """The network in use, else the chosen one, else that of the only list of devices that is not empty."""
    used = sorted({one.network for one in channels})
    if used or state.networks:
        return ", ".join(used or sorted(state.networks))
    glued = [name for name in state.glued_networks if not any(other != name and other.startswith(name) for other in state.glued_networks)]
    if glued:
        return min(glued)
    if state.hcas:
        return next((name for name in state.plugins if name.startswith("IBext")), "IB")
    if state.providers:
        return "Libfabric"
    if state.interfaces:
        return "Socket"
    return next(iter(state.plugins)) if len(state.plugins) == 1 else ""


def _chosen(state: LogState, network: str) -> list[Record]:
    lists: dict[str, list[Record]] = {
        "rdma": [*state.hcas.values()], "socket": [*state.interfaces.values()], "libfabric": [*state.providers.values()]
    }  # fmt: skip
    shown = [record for table in (state.networks, state.glued_networks) for name, record in table.items() if name == network]
    if not shown:
        shown = lists.get(kind_of(network), [])[:2] or [*state.plugins.values()]
    return [*shown[:2], *([*state.nodes.values()][-1:])]


def forced(state: LogState) -> list[Record]:
    """The settings that keep NCCL from RDMA."""
    return [record for (name, value), record in state.settings.items() if name in FORCING and re.fullmatch(FORCING[name], value)]


def _provider(state: LogState) -> str:
    """rdma, tcp or "" of the Libfabric provider; TCP wins where there are several."""
    if any(name.split(";")[0] in TCP_PROVIDERS for name in state.providers):
        return "tcp"
    return "rdma" if any(name in RDMA_PROVIDERS for name in state.providers) else ""


def _by_channels(state: LogState, channels: dict[Channel, Record]) -> tuple[NcclVerdict, str, list[Record]]:
    network, lines = next(iter(channels)).network, [*channels.values()]
    kind = kind_of(network)
    if kind == "tcp_plugin":
        return "tcp_plugin", f"The channels between hosts use {network}, which is TCP by design.", lines
    if kind == "socket" or (kind == "libfabric" and _provider(state) == "tcp"):
        shown = [*lines, *state.providers.values()] if kind == "libfabric" else lines
        return _tcp(state, "The channels between hosts are TCP sockets.", shown)
    without = [record for channel, record in channels.items() if not channel.gdr]
    if not without:
        return "rdma_gdr", "All channels over the network use RDMA with GPUDirect.", lines
    if kind == "rdma" or (kind == "libfabric" and _provider(state) == "rdma"):
        has = "some" if len(without) < len(lines) else "none"
        share = f"{len(without)} of {len(lines)} of the connections go" if has == "some" else "All channels over the network go"
        return "rdma_no_gdr", f"{share} by RDMA without GPUDirect, through the host's memory.", without
    return "external_provider_unknown", f"Nothing in the log says what {network} runs over.", lines


def _tcp(state: LogState, why: str, proofs: list[Record]) -> tuple[NcclVerdict, str, list[Record]]:
    settings = forced(state)
    if settings:
        return "tcp_forced", f"{why} A setting wants that.", [*settings, *proofs]
    return "tcp_fallback", f"{why} No setting asks for that.", proofs


def _by_choice(state: LogState, network: str, size: Size) -> "tuple[NcclVerdict, str, list[Record], Gdr]":
    kind, lines = kind_of(network), _chosen(state, network)
    if size.is_one_node:
        return "intra_node_only", "The job runs on one host: the network that NCCL chose carries nothing.", lines, "unknown"
    if kind == "tcp_plugin":
        return "tcp_plugin", f"NCCL chose {network}, which is TCP by design.", lines, "unknown"
    if kind == "libfabric" and _provider(state) == "tcp":
        return "tcp_fallback", "Libfabric's provider is TCP.", [*state.providers.values(), *lines], "no"
    if kind == "socket":
        if forced(state):
            return "tcp_forced", "NCCL chose TCP sockets, as a setting wants.", [*forced(state), *lines], "no"
        if size.nodes > 1 or size.hosts > 1:
            return "tcp_fallback", "NCCL chose TCP sockets, and the job runs on several hosts.", lines, "no"
        return "net_socket_nodes_unknown", "NCCL chose TCP sockets, and nothing says whether the job has several hosts.", lines, "no"
    if kind == "rdma" or (kind == "libfabric" and _provider(state) == "rdma"):
        disabled = _disabled(state)
        if disabled:
            return "rdma_no_gdr", "NCCL chose RDMA, and GPUDirect RDMA is off for each HCA that it lists.", [*disabled, *lines], "no"
        return "rdma_gdr_unknown", "NCCL chose RDMA; no line of a channel says whether with GPUDirect.", lines, "unknown"
    return "external_provider_unknown", f"Nothing in the log says what {network} runs over.", lines, "unknown"


def _disabled(state: LogState) -> list[Record]:
    """The lines that disable GPUDirect, if every listed HCA has one and none is enabled."""
    if not state.hcas or any(is_on for _, _, is_on in state.capable):
        return []
    parts = {(host, part.partition(":")[0]): record for (host, name, _), record in state.capable.items() for part in name.split("+")}
    listed = {(host, name.partition(":")[0]) for host, name in state.hcas}
    return [*parts.values()] if listed <= parts.keys() else []
