"""NCCL's choice for a job of several nodes on this host, from the host's facts."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.nccl import gpudirect
from hostagent.domains.nccl.devices import NcclChoice, bootstraps, version, winning
from hostagent.domains.nccl.interfaces import Choice
from hostagent.domains.nccl.network import Asked, ChosenNetwork, network
from hostagent.domains.nccl.tables.changes import NEWEST, Version
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kernel import Kernel
from hostagent.facts.nccl import Nccl
from hostagent.facts.network import Network
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import Rdma, RdmaPort
from hostagent.facts.topology import Nic, Topology

Part = TypeVar("Part")

_NONE = Unread("absent", "the host has no libnccl and no setting of NCCL: its jobs bring them")
_WHY_NONE: Mapping[str, str] = {
    "bad_comm_id": "NCCL_COMM_ID is none, and NCCL stops",
    "no_subnet": "no interface is in the network of NCCL_COMM_ID, and NCCL stops",
    "no_interface": "the bootstrap finds no interface, and NCCL stops",
}


class _Job(NamedTuple):
    settings: Mapping[str, str]
    version: Version


def choice(facts: HostFacts) -> NcclChoice:
    """Each part is derived independently: an unread input of one leaves the others known."""
    nccl: Nccl | Unread = facts.of(Nccl)
    there = nccl if isinstance(nccl, Unread) else nccl.is_there
    if isinstance(nccl, Unread) or isinstance(there, Unread) or not there:
        gap = there if isinstance(there, Unread) else _NONE
        return NcclChoice(gap, gap, gap, gap, "")
    job = _tried(lambda: _Job(winning(nccl), need(version(nccl)) or NEWEST))
    if isinstance(job, Unread):
        return NcclChoice(job, job, job, job, "")
    met = _tried(lambda: _meets(facts.of(Network), job))
    if isinstance(met, Choice) and not met.interface:
        return NcclChoice("", "", (), "", _WHY_NONE[met.why])
    network_choice = _tried(lambda: network(Asked(nccl, facts.of(RdmaPort), job.settings, job.version)))
    interface = met if isinstance(met, Unread) else met.interface
    if isinstance(network_choice, Unread):
        return NcclChoice(network_choice, interface, network_choice, network_choice, "")
    names = network_choice.ports if isinstance(network_choice.ports, Unread) else tuple(port.name for port in network_choice.ports)
    return NcclChoice(network_choice.network, interface, names, _tried(lambda: _gdr(facts, network_choice, job)), network_choice.why)


def _tried(ask: Callable[[], Part]) -> "Part | Unread":
    try:
        return ask()
    except UnreadError as error:
        return error.unread


def _meets(found: "Network | Unread", job: _Job) -> Choice:
    met, *others = bootstraps(need(found), job.settings, job.version)
    if others:
        names = " or ".join(one.interface or "none" for one in (met, *others))
        need(Unread("error", f"the kernel's tables do not say whose some addresses are: {names}", "network addresses"))
    if not met.is_known:
        need(Unread("not-supported", "NCCL_COMM_ID names a host: what that resolves to is not asked"))
    return met


def _gdr(facts: HostFacts, network_choice: ChosenNetwork, job: _Job) -> str:
    if not need(network_choice.is_rdma):
        return ""
    host = gpudirect.Host(*(facts.of(kind) for kind in (Gpu, Nic, Topology, Platform, Kernel, Driver, Rdma)))
    return gpudirect.gpudirect(host, need(network_choice.ports), job.settings, job.version)
