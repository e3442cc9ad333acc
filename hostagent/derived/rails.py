"""The rails of one host, for the many checks that ask for them: joined once, from what says where GPUs and NICs are."""

from typing import NamedTuple

from hostagent.derived.distance import classes
from hostagent.derived.roles import rail_ports
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.facts.unread import Unread, UnreadError


class Wanted(NamedTuple):
    """What it is asked of. `hcas` is the profile's ``rdma.hcas``."""

    ports: tuple[RdmaPort, ...]
    nics: tuple[Nic, ...]
    gpus: tuple[Gpu, ...]
    topology: "Topology | Unread"
    platform: "Platform | Unread"
    hcas: str


#: What was asked last, and the answer. One host is judged at a time; its facts are kept with it, so that no others get their place.
_last: list[tuple[Wanted, "tuple[RdmaPort, ...] | Unread"]] = []


def of_host(wanted: Wanted) -> tuple[RdmaPort, ...]:
    """In the order of their names. Raises ``UnreadError`` where it is not known whether a port is one."""
    if not _last or not all(one is other for one, other in zip(_last[0][0], wanted, strict=True)):
        _last[:] = [(wanted, _joined(wanted))]
    found = _last[0][1]
    if isinstance(found, Unread):
        raise UnreadError(found)
    return found


def _joined(wanted: Wanted) -> "tuple[RdmaPort, ...] | Unread":
    distances = classes(wanted.topology, wanted.gpus, wanted.nics, wanted.platform)
    try:
        return rail_ports(wanted.ports, wanted.nics, distances, wanted.hcas)
    except UnreadError as error:
        return error.unread
