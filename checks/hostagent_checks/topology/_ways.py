"""The ways between GPUs and rails that checks judge, and hosts that have none."""

from hostagent.check import need, skip
from hostagent.derived.gpupath import Host, Way, rail_ports, ways
from hostagent.facts.platform import Platform

from ._nodes import MACHINE


def ways_of_jobs(host: Host) -> tuple[Way, ...]:
    found = ways(host)
    if not found:
        skip_without_rails(host)
        skip("no GPU of this host lets network cards reach its memory")
    return found


def skip_without_rails(host: Host) -> None:
    if not rail_ports(host):
        skip("the host has no RDMA port that jobs use between nodes")


def skip_in_a_machine(platform: Platform) -> None:
    """What a guest sees of bridges and of the IOMMU is made up, or set by the machine below it."""
    if need(platform.virtual) == MACHINE:
        skip("PCI is set up by the machine below this virtual one")
