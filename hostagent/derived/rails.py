"""The rails of one host, for the many checks that ask for them: joined once, from what says where GPUs and NICs are."""

from typing import NamedTuple

from hostagent.derived.distance import classes
from hostagent.derived.roles import rail_ports
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.facts.unread import Unread, UnreadError


class _Asked(NamedTuple):
    """What the answer is made of."""

    ports: tuple[RdmaPort, ...]
    nics: tuple[Nic, ...]
    gpus: tuple[Gpu, ...]
    topology: "Topology | Unread"
    platform: "Platform | Unread"
    hcas: str


#: What was asked last, and the answer. One host is judged at a time; its facts are kept with it, so that no others get their place.
_last: list[tuple[_Asked, "tuple[RdmaPort, ...] | Unread"]] = []


def of_host(  # noqa: PLR0913, PLR0917  one parameter a fact
    ports: tuple[RdmaPort, ...],
    nics: tuple[Nic, ...],
    gpus: tuple[Gpu, ...],
    topology: "Topology | Unread",
    platform: "Platform | Unread",
    hcas: str,
) -> tuple[RdmaPort, ...]:
    """By name. `hcas` is the profile's ``rdma.hcas``. Raises ``UnreadError`` where nobody knows whether a port is one."""
    asked = _Asked(ports, nics, gpus, topology, platform, hcas)
    if not _last or not all(one is other for one, other in zip(_last[0][0], asked, strict=True)):
        _last[:] = [(asked, _joined(asked))]
    found = _last[0][1]
    if isinstance(found, Unread):
        raise UnreadError(found)
    return found


def _joined(asked: _Asked) -> "tuple[RdmaPort, ...] | Unread":
    distances = classes(asked.topology, asked.gpus, asked.nics, asked.platform)
    try:
        return rail_ports(asked.ports, asked.nics, distances, asked.hcas)
    except UnreadError as error:
        return error.unread
