"""The rails of one host: the RDMA ports that carry the traffic of jobs, joined from ports, NICs, GPUs and topology."""

from hostagent.core.frozen import frozen
from hostagent.core.join import Join, cached
from hostagent.core.unread import NOT_APPLICABLE, Unread, need
from hostagent.domains.network.roles import rail_ports
from hostagent.domains.topology.distance import Distances, classes
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.profiles.profile import Profile


@frozen
class Rails(Join):
    """The rails, and how near GPUs and NICs are to each other."""

    all_ports: tuple[RdmaPort, ...]
    nics: tuple[Nic, ...]
    gpus: tuple[Gpu, ...]
    topology: Topology | Unread
    platform: Platform | Unread
    profile: Profile

    @cached
    def distances(self) -> Distances:
        return classes(self.topology, self.gpus, self.nics, self.platform)

    @cached
    def ports(self) -> tuple[RdmaPort, ...]:
        """In the order of their names. Raises ``UnreadError`` where it is not known whether a port is one."""
        return rail_ports(self.all_ports, self.nics, self.distances, self.profile.rdma.hcas)

    @property
    def are_unused(self) -> bool:
        return self.profile.rdma.required == "no"


@frozen
class JobRails(Join):
    """The rails of a host or of an image, which has no ports yet: for settings of jobs, which an image has, too."""

    all_ports: tuple[RdmaPort, ...] | Unread
    rails: Rails | Unread
    profile: Profile

    @property
    def are_of_an_image(self) -> bool:
        return isinstance(self.all_ports, Unread) and self.all_ports.why in NOT_APPLICABLE

    @cached
    def ports(self) -> tuple[RdmaPort, ...]:
        """() of an image; without RDMA ports nothing else is needed. Raises ``UnreadError``."""
        return need(self.rails).ports if not self.are_of_an_image and need(self.all_ports) else ()
