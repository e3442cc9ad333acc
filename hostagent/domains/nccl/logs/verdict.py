"""Which network a job used: the first of the rules that holds, with the lines that prove it."""

# `wrong type X != Y` makes *mixed*; with an error trace or result text it is *failed*, the first rule. A version that NCCL calls
# mismatched is *failed*, versions that merely differ are *mixed*. GPUDirect-TCPX prints `/GDRDMA` and is tcp_plugin all the same;
# channels of an unknown plug-in with it are rdma_gdr.

import re
from collections.abc import Iterable
from typing import NamedTuple

from hostagent.core.vocabulary import Gdr, NcclVerdict
from hostagent.domains.nccl.logs.log_state import Channel, Process, Seen, Suspect
from hostagent.domains.nccl.logs.records import Record
from hostagent.domains.nccl.tables.logs import FORCING, RDMA_PROVIDERS, TCP_PROVIDERS, kind_of

_PROOFS = 5


class Size(NamedTuple):
    """How large the job is, as far as its log says; 0 is unknown."""

    nodes: int
    hosts: int  # that wrote something
    ranks: int
    ranks_seen: int

    @property
    def is_one_node(self) -> bool:
        return self.nodes == 1 or self.ranks == 1


class Judged(NamedTuple):
    """The verdict, and what it rests on."""

    verdict: NcclVerdict
    why: str
    proofs: tuple[Record, ...]
    network: str
    gdr: Gdr
    size: Size


def judge(seen: Seen) -> Judged:
    """What the log of one job says."""
    channels, size = _channels(seen), _size(seen)
    network, gdr = _network(seen, channels), _gdr(channels)

    def judged(verdict: NcclVerdict, why: str, proofs: Iterable[Record] = (), told: Gdr = gdr, name: str = network) -> Judged:
        ordered = sorted({(one.file, one.line, one.text): one for one in proofs}.items())
        return Judged(verdict, why, tuple(one for _, one in ordered[:_PROOFS]), name, told, size)

    if others := seen.libraries or ({} if seen.records else seen.words):
        names = ", ".join(sorted(others))
        return judged("unknown", f"These are the lines of {names}, not of NCCL.", others.values(), "unknown", names)
    fatal = _fatal(seen)
    if fatal:
        return judged("failed", "NCCL or the program above it reports an error.", fatal)
    if differs := _mixed(seen, channels):
        return judged("mixed", differs[0], differs[1])
    if channels:
        return judged(*_by_channels(seen, channels), told=_told_gdr(network, gdr))
    is_local = bool(seen.local) and size.hosts <= 1 and size.nodes <= 1 and (not size.ranks or size.ranks_seen >= size.ranks)
    if network and not (is_local and not size.is_one_node):
        return judged(*_by_choice(seen, network, size))
    if is_local:
        return judged("intra_node_only", "All channels stay within one host: P2P or shared memory.", seen.local.values())
    return judged("unknown", "No line says which network NCCL chose, and no channel over a network is in the log.")


def _channels(seen: Seen) -> dict[Channel, Record]:
    """All over the network. One that the next record may have cut counts as one without GPUDirect only where none has it."""
    found = dict(seen.channels)
    for channel, record in seen.glued_channels.items():
        has_gdr = any(one.gdr for one in seen.channels if one.network == channel.network)
        if not has_gdr or kind_of(channel.network) == "socket":
            found[channel] = record
    return found


def _gdr(channels: Iterable[Channel]) -> Gdr:
    ways = {one.gdr for one in channels}
    return "unknown" if not ways else "mixed" if len(ways) > 1 else "yes" if True in ways else "no"


def _told_gdr(network: str, gdr: Gdr) -> Gdr:
    return "no" if kind_of(network) == "socket" else gdr


def hosts(seen: Seen) -> dict[str, set[str]]:
    """Hosts with their addresses. A name that is the end of another one, of the same processes, is that name cut."""
    ends = ((other[at:], other) for other in seen.hosts for at in range(1, len(other)))
    cut = {end for end, other in ends if end in seen.hosts and seen.hosts[end] <= seen.hosts[other]}
    found: dict[str, set[str]] = {name: set() for name in seen.hosts if name not in cut}
    booted = {name for name, _, _ in seen.boots}
    for name, _, address in seen.boots:
        if name in found:
            found[name].add(address)
    for name, address in seen.addresses:
        if name in found and name not in booted:
            found[name].add(address)
    return found


def _size(seen: Seen) -> Size:
    ranks = max(seen.sizes, default=0)
    ranks_seen = len(seen.sizes[ranks]) if ranks else 0
    number = sum(max(1, len(addresses)) for addresses in hosts(seen).values())
    nodes = max(seen.nodes, default=0) or (number if ranks and ranks_seen >= ranks else 0)
    if not ranks:
        ranks_seen = len({one.rank for one in seen.channels})
    return Size(nodes, number, ranks, ranks_seen)


def _fatal(seen: Seen) -> list[Record]:
    suspects = [one.record for one in seen.suspects if not _went_on(seen, one)]
    return [*seen.warnings, *suspects, *seen.results, *seen.traces]


def _went_on(seen: Seen, suspect: Suspect) -> bool:
    """Whether the same process says after the warning that it goes on."""
    place = (suspect.record.file, suspect.record.line)
    kinds = ("ras", "complete", "network") if suspect.kind == "bind" else ("network",)
    return any(_after(seen, kind, suspect.process, place) for kind in kinds)


def _after(seen: Seen, kind: str, process: Process, place: tuple[str, int]) -> bool:
    return seen.went_on.get((kind, process), ("", 0)) >= place


def _mixed(seen: Seen, channels: dict[Channel, Record]) -> tuple[str, list[Record]] | None:
    if seen.wrong_types:
        return "Ranks with different networks met: one expects another kind of connection.", seen.wrong_types
    names = dict(seen.networks)
    for channel, record in channels.items():
        names.setdefault(channel.network, record)
    if len(names) > 1:
        return f"Ranks use different networks: {', '.join(sorted(names))}.", [*names.values()]
    if len(seen.versions) > 1:
        return f"Ranks have different versions of NCCL: {', '.join(sorted(seen.versions))}.", [*seen.versions.values()]
    return None


def _network(seen: Seen, channels: dict[Channel, Record]) -> str:
    """The one that was used, else chosen, else the only list of devices that is not empty."""
    used = sorted({one.network for one in channels})
    if used or seen.networks:
        return ", ".join(used or sorted(seen.networks))
    glued = [name for name in seen.glued_networks if not any(other != name and other.startswith(name) for other in seen.glued_networks)]
    if glued:
        return min(glued)
    if seen.hcas:
        return next((name for name in seen.plugins if name.startswith("IBext")), "IB")
    if seen.providers:
        return "Libfabric"
    if seen.interfaces:
        return "Socket"
    return next(iter(seen.plugins)) if len(seen.plugins) == 1 else ""


def _chosen(seen: Seen, network: str) -> list[Record]:
    lists: dict[str, list[Record]] = {
        "rdma": [*seen.hcas.values()], "socket": [*seen.interfaces.values()], "libfabric": [*seen.providers.values()]
    }  # fmt: skip
    shown = [record for table in (seen.networks, seen.glued_networks) for name, record in table.items() if name == network]
    if not shown:
        shown = lists.get(kind_of(network), [])[:2] or [*seen.plugins.values()]
    return [*shown[:2], *([*seen.nodes.values()][-1:])]


def forced(seen: Seen) -> list[Record]:
    """The settings that keep NCCL from RDMA."""
    return [record for (name, value), record in seen.settings.items() if name in FORCING and re.fullmatch(FORCING[name], value)]


def _provider(seen: Seen) -> str:
    """rdma, tcp or "" of the Libfabric provider; TCP wins where there are several."""
    if any(name.split(";")[0] in TCP_PROVIDERS for name in seen.providers):
        return "tcp"
    return "rdma" if any(name in RDMA_PROVIDERS for name in seen.providers) else ""


def _by_channels(seen: Seen, channels: dict[Channel, Record]) -> tuple[NcclVerdict, str, list[Record]]:
    network, lines = next(iter(channels)).network, [*channels.values()]
    kind = kind_of(network)
    if kind == "tcp_plugin":
        return "tcp_plugin", f"The channels between hosts use {network}, which is TCP by design.", lines
    if kind == "socket" or (kind == "libfabric" and _provider(seen) == "tcp"):
        shown = [*lines, *seen.providers.values()] if kind == "libfabric" else lines
        return _tcp(seen, "The channels between hosts are TCP sockets.", shown)
    without = [record for channel, record in channels.items() if not channel.gdr]
    if not without:
        return "rdma_gdr", "All channels over the network use RDMA with GPUDirect.", lines
    if kind == "rdma" or (kind == "libfabric" and _provider(seen) == "rdma"):
        has = "some" if len(without) < len(lines) else "none"
        told = f"{len(without)} of {len(lines)} of the connections go" if has == "some" else "All channels over the network go"
        return "rdma_no_gdr", f"{told} by RDMA without GPUDirect, through the host's memory.", without
    return "external_provider_unknown", f"Nothing in the log says what {network} runs over.", lines


def _tcp(seen: Seen, why: str, proofs: list[Record]) -> tuple[NcclVerdict, str, list[Record]]:
    settings = forced(seen)
    if settings:
        return "tcp_forced", f"{why} A setting wants that.", [*settings, *proofs]
    return "tcp_fallback", f"{why} No setting asks for that.", proofs


def _by_choice(seen: Seen, network: str, size: Size) -> "tuple[NcclVerdict, str, list[Record], Gdr]":
    kind, lines = kind_of(network), _chosen(seen, network)
    if size.is_one_node:
        return "intra_node_only", "The job runs on one host: the network that NCCL chose carries nothing.", lines, "unknown"
    if kind == "tcp_plugin":
        return "tcp_plugin", f"NCCL chose {network}, which is TCP by design.", lines, "unknown"
    if kind == "libfabric" and _provider(seen) == "tcp":
        return "tcp_fallback", "Libfabric's provider is TCP.", [*seen.providers.values(), *lines], "no"
    if kind == "socket":
        if forced(seen):
            return "tcp_forced", "NCCL chose TCP sockets, as a setting wants.", [*forced(seen), *lines], "no"
        if size.nodes > 1 or size.hosts > 1:
            return "tcp_fallback", "NCCL chose TCP sockets, and the job runs on several hosts.", lines, "no"
        return "net_socket_nodes_unknown", "NCCL chose TCP sockets, and nothing says whether the job has several hosts.", lines, "no"
    if kind == "rdma" or (kind == "libfabric" and _provider(seen) == "rdma"):
        disabled = _disabled(seen)
        if disabled:
            return "rdma_no_gdr", "NCCL chose RDMA, and GPUDirect RDMA is off for each HCA that it lists.", [*disabled, *lines], "no"
        return "rdma_gdr_unknown", "NCCL chose RDMA; no line of a channel says whether with GPUDirect.", lines, "unknown"
    return "external_provider_unknown", f"Nothing in the log says what {network} runs over.", lines, "unknown"


def _disabled(seen: Seen) -> list[Record]:
    """The lines that say so, where every listed HCA has one and none has another."""
    if not seen.hcas or any(is_on for _, _, is_on in seen.capable):
        return []
    parts = {(host, part.partition(":")[0]): record for (host, name, _), record in seen.capable.items() for part in name.split("+")}
    listed = {(host, name.partition(":")[0]) for host, name in seen.hcas}
    return [*parts.values()] if listed <= parts.keys() else []
