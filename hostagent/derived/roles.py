"""Which RDMA ports carry a job's traffic between nodes: the rails. All others are listed, and not judged for rate, MTU or link layer."""

from collections.abc import Mapping
from typing import Literal

from hostagent.derived.distance import Distances
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic
from hostagent.facts.unread import Unread

Role = Literal["rail", "other"]


def roles(ports: tuple[RdmaPort, ...], nics: tuple[Nic, ...], distances: "Distances | Unread", hcas: str) -> "Mapping[str, Role | Unread]":
    """By name of the port. `hcas` is the profile's, in NCCL's own syntax (see `taken_by`); "" is by what is nearest.

    A rail is an RDMA port that is nearest to some GPU and shares link layer and top rate with the majority of those. Where no distance
    is known (a virtual machine), ports that share link layer and rate with the majority of all that are on PCI.
    """
    raise NotImplementedError


def rail_ports(ports: tuple[RdmaPort, ...], nics: tuple[Nic, ...], distances: "Distances | Unread", hcas: str) -> tuple[RdmaPort, ...]:
    """The rails, in the order of their names. Raises ``UnreadError`` where it is not known whether a port is one."""
    raise NotImplementedError


def taken_by(hcas: str, device: str, port: int) -> bool:
    """Whether NCCL_IB_HCA of this value takes the port: ``^`` excludes, ``=`` is exact, else tokens are prefixes; ``name[:port]``.

    >>> taken_by("mlx5_1", "mlx5_10", 1), taken_by("=mlx5_1", "mlx5_10", 1), taken_by("^=mlx5_1:1", "mlx5_1", 2)
    (True, False, True)
    """
    raise NotImplementedError
