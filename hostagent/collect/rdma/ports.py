"""RDMA ports by sysfs and libibverbs."""

from collections.abc import Callable
from typing import Any

from hostagent.facts.rdma import RdmaPort
from hostagent.facts.unread import Unread
from hostagent.source import Source


def read_ports(source: Source, known: Callable[[type], Any]) -> "tuple[RdmaPort, ...] | Unread":
    return Unread("not-recorded", "RDMA ports are not read yet")
