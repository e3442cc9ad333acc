"""The host's RDMA stack: devices, mode, library, peer memory, limits."""

from collections.abc import Callable
from typing import Any

from hostagent.facts.rdma import Rdma
from hostagent.facts.unread import Unread
from hostagent.source import Source


def read_rdma(source: Source, known: Callable[[type], Any]) -> Rdma:
    none = Unread("not-recorded", "the RDMA stack is not read yet")
    return Rdma(none, none, none, none, none, none, none, none, none, none)
