"""The ways between GPUs and rails that checks judge, and hosts that have none."""

from hostagent.check import need, skip
from hostagent.derived.gpupath import Way, ways
from hostagent.derived.rails import Wanted, of_host
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.profile import Profile

from ._nodes import MACHINE


def asked(
    ports: tuple[RdmaPort, ...], nics: tuple[Nic, ...], gpus: tuple[Gpu, ...], topology: Topology, platform: Platform, profile: Profile
) -> Wanted:
    """What rails and ways are asked of. Skips a host without rails, and one whose jobs use none."""
    if profile.rdma.required == "no":
        skip("the profile says that jobs need no RDMA")
    host = Wanted(ports, nics, gpus, topology, platform, profile.rdma.hcas)
    if not of_host(host):
        skip("no RDMA port carries traffic of jobs")
    return host


def ways_of_jobs(host: Wanted) -> tuple[Way, ...]:
    return ways(host) or skip("no GPU of this host lets network cards reach its memory")


def skip_in_a_machine(platform: Platform) -> None:
    """What a guest sees of bridges and of the IOMMU is made up, or set by the machine below it; a container sees that of its host."""
    if platform.in_container or need(platform.contained):
        skip("PCI is set up by the host of this container")
    if need(platform.virtual) == MACHINE:
        skip("PCI is set up by the machine below this virtual one")
