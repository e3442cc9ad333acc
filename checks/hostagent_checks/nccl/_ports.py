"""The ports whose settings NCCL's own RDMA code reads: EFA's are a plug-in's."""

from hostagent.check import need, skip
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.facts.unread import Unread
from hostagent.knowledge.rdma import EFA, ETHERNET
from hostagent.profile import Profile

from ._job import rails


def verbs(
    ports: tuple[RdmaPort, ...] | Unread,
    nics: tuple[Nic, ...] | Unread,
    gpus: tuple[Gpu, ...] | Unread,
    topology: Topology | Unread,
    platform: Platform | Unread,
    profile: Profile,
) -> tuple[RdmaPort, ...]:
    """InfiniBand and RoCE; () of an image, whose host nobody knows. Raises ``UnreadError``."""
    found = rails(ports, nics, gpus, topology, platform, profile)
    ours = tuple(port for port in found if need(port.driver) != EFA)
    return ours if ours or not found else skip("jobs use EFA, whose plug-in has settings of its own")


def roce(
    ports: tuple[RdmaPort, ...] | Unread,
    nics: tuple[Nic, ...] | Unread,
    gpus: tuple[Gpu, ...] | Unread,
    topology: Topology | Unread,
    platform: Platform | Unread,
    profile: Profile,
) -> tuple[RdmaPort, ...]:
    """RoCE alone; a host and an image without are skipped. Raises ``UnreadError``."""
    found = verbs(ports, nics, gpus, topology, platform, profile)
    return tuple(port for port in found if need(port.link_layer) == ETHERNET) or skip("no RoCE port carries traffic of jobs")
