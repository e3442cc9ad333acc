"""The ways between GPUs and rails that checks judge, and hosts that have none."""

from hostagent.check import need, skip
from hostagent.domains.network.gpu_path import GpuPaths, Way
from hostagent.domains.network.rails import Rails
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort

from ._nodes import MACHINE


def ports_of(rails: Rails) -> tuple[RdmaPort, ...]:
    """Skips a host without rails, and one whose jobs use none."""
    if rails.are_unused:
        skip("the profile says that jobs need no RDMA")
    return rails.ports or skip("no RDMA port carries traffic of jobs")


def ways_of_jobs(paths: GpuPaths) -> tuple[Way, ...]:
    """The same, and a host whose GPUs have no way."""
    ports_of(paths.rails)
    return paths.ways or skip("no GPU of this host lets network cards reach its memory")


def skip_in_a_machine(platform: Platform) -> None:
    """What a guest sees of bridges and of the IOMMU is made up, or set by the machine below it; a container sees that of its host."""
    if platform.in_container or need(platform.contained):
        skip("PCI is set up by the host of this container")
    if need(platform.virtual) == MACHINE:
        skip("PCI is set up by the machine below this virtual one")
