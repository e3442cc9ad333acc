"""The ports whose settings NCCL's own RDMA code reads: EFA's are a plug-in's."""

from hostagent.check import need, skip
from hostagent.domains.network.rails import JobRails
from hostagent.domains.network.tables.rdma_devices import EFA, ETHERNET
from hostagent.facts.rdma import RdmaPort

from ._job import ports_of


def verbs(rails: JobRails) -> tuple[RdmaPort, ...]:
    """InfiniBand and RoCE; () of an image, whose host nobody knows. Raises ``UnreadError``."""
    found = ports_of(rails)
    ours = tuple(port for port in found if need(port.driver) != EFA)
    return ours if ours or not found else skip("jobs use EFA, whose plug-in has settings of its own")


def roce(rails: JobRails) -> tuple[RdmaPort, ...]:
    """RoCE alone; a host and an image without are skipped. Raises ``UnreadError``."""
    found = verbs(rails)
    return tuple(port for port in found if need(port.link_layer) == ETHERNET) or skip("no RoCE port carries traffic of jobs")
