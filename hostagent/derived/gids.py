"""Which slot of a RoCE port's GID table a job gets: NCCL's own order, up to 2.20 and from 2.21 on."""

from hostagent.facts.rdma import Gid, RdmaPort
from hostagent.facts.unread import Unread


def chosen(port: RdmaPort) -> "Gid | Unread":
    """By NCCL from 2.21 on, without a setting: RoCE v2 before v1, an IPv4 address before IPv6, no link-local one where another is.

    Absent where the table is empty; not-supported on InfiniBand without RoCE, and on EFA.
    """
    raise NotImplementedError


def chosen_before_2_21(port: RdmaPort) -> "Gid | Unread":
    """By NCCL up to 2.20, without a setting: index 0, whatever it is."""
    raise NotImplementedError


def is_routable(gid: Gid) -> bool:
    """RoCE v2 of an address: neither v1 nor link-local."""
    raise NotImplementedError
