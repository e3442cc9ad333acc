"""What NCCL would choose on this host with the settings that a job finds: interface, network, HCAs, GPUDirect RDMA.

The interface is judged by the real library (tests/real/test_libnccl.py). Network, HCAs and GPUDirect follow NVIDIA/nccl, src/transport
and src/graph, and are tested by cases alone: no library chooses an HCA where there is none.
"""

from collections.abc import Mapping

from hostagent.facts.frozen import frozen
from hostagent.facts.nccl import Nccl
from hostagent.facts.network import Network
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.unread import Unread
from hostagent.knowledge.ncclchanges import Version
from hostagent.nccl import interfaces


def version(nccl: Nccl) -> "Version | None | Unread":
    """Of the library that a job finds first; None where the host has none (the job brings its own)."""
    raise NotImplementedError


def winning(nccl: Nccl) -> Mapping[str, str]:
    """What NCCL sees, by name; names that the table does not know are left out. Raises ``UnreadError``."""
    raise NotImplementedError


def addresses(network: Network) -> tuple[interfaces.Address, ...]:
    """The addresses of the host as the model of the interface takes them. Raises ``UnreadError``."""
    raise NotImplementedError


def hcas(ports: tuple[RdmaPort, ...], value: str, version: Version) -> tuple[RdmaPort, ...]:
    """The ports that NCCL opens, of those that are active, with NCCL_IB_HCA's value ("" unset), in its order. Raises ``UnreadError``."""
    raise NotImplementedError


@frozen
class NcclChoice:
    """What a job of several nodes would get."""

    network: str | Unread  # IB, Socket, or a plug-in's name; "" where NCCL would stop with an error
    interface: str | Unread  # of the bootstrap and of sockets; "" where it finds none
    hcas: tuple[str, ...] | Unread  # mlx5_0:1; () where the network is no RDMA
    gdr: str | Unread  # yes, no, mixed; "" where the network is no RDMA
    why: str  # one sentence: what decides the network
