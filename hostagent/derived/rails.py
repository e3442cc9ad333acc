"""The rails of one host, for the many checks that ask for them: joined once, from what says where GPUs and NICs are."""

from hostagent.derived.distance import classes
from hostagent.derived.roles import rail_ports
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.facts.unread import Unread, UnreadError

#: What was asked last, and the answer. One host is judged at a time; the facts themselves are kept, so that no other gets their place.
_last: list[tuple[tuple[object, ...], "tuple[RdmaPort, ...] | UnreadError"]] = []


def of_host(
    ports: tuple[RdmaPort, ...],
    nics: tuple[Nic, ...],
    gpus: tuple[Gpu, ...],
    topology: "Topology | Unread",
    platform: "Platform | Unread",
    hcas: str,
) -> tuple[RdmaPort, ...]:
    """In the order of their names. Raises ``UnreadError`` where it is not known whether a port is one."""
    asked = (ports, nics, gpus, topology, platform, hcas)
    if not _last or not all(one is other for one, other in zip(_last[0][0], asked, strict=True)):
        _last[:] = [(asked, _joined(ports, nics, gpus, topology, platform, hcas))]
    found = _last[0][1]
    if isinstance(found, UnreadError):
        raise UnreadError(found.unread)
    return found


def _joined(
    ports: tuple[RdmaPort, ...],
    nics: tuple[Nic, ...],
    gpus: tuple[Gpu, ...],
    topology: "Topology | Unread",
    platform: "Platform | Unread",
    hcas: str,
) -> "tuple[RdmaPort, ...] | UnreadError":
    try:
        return rail_ports(ports, nics, classes(topology, gpus, nics, platform), hcas)
    except UnreadError as error:
        return error
