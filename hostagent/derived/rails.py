"""The rails of one host, for the many checks that ask for them: joined once, from what says where GPUs and NICs are."""

from typing import NamedTuple

from hostagent.derived.distance import classes
from hostagent.derived.once import once
from hostagent.derived.roles import rail_ports
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.facts.unread import Unread


class Wanted(NamedTuple):
    """What it is asked of. `hcas` is the profile's ``rdma.hcas``."""

    ports: tuple[RdmaPort, ...]
    nics: tuple[Nic, ...]
    gpus: tuple[Gpu, ...]
    topology: "Topology | Unread"
    platform: "Platform | Unread"
    hcas: str


@once
def of_host(wanted: Wanted) -> tuple[RdmaPort, ...]:
    """In the order of their names. Raises ``UnreadError`` where it is not known whether a port is one."""
    distances = classes(wanted.topology, wanted.gpus, wanted.nics, wanted.platform)
    return rail_ports(wanted.ports, wanted.nics, distances, wanted.hcas)
