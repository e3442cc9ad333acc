"""Which MTU a job gets between nodes, and whether all rails agree."""

from typing import Literal, NamedTuple

from hostagent.facts.network import Network
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.unread import Unread


class ActiveMtu(NamedTuple):
    """Of one port, in bytes: by ibv_query_port, or derived from its interface by the kernel's formula (RoCE alone)."""

    value: "int | Unread"
    origin: Literal["verbs", "derived", ""]


class Agreement(NamedTuple):
    """One answer for the host."""

    agree: "bool | Unread"
    netdev: "int | Unread"  # bytes, what most rails have
    active: "int | Unread"
    odd: tuple[str, ...]  # names of ports that have another netdev or active MTU than most, or less than their interface allows
    text: str  # "8 rails RoCE v2 400 Gb/s, netdev MTU 9000, active MTU 4096: agree"


def active_mtu(port: RdmaPort, network: "Network | Unread") -> ActiveMtu:
    raise NotImplementedError


def agreement(rails: tuple[RdmaPort, ...], network: "Network | Unread") -> Agreement:
    """Of the rails alone. `text` is one line for people, also where there is no rail, or where something is unread."""
    raise NotImplementedError
