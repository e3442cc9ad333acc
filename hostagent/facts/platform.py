"""The kind of a host, and the owners of its parts."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Base, PartOwner, Virtual


@frozen
class Part:
    """Place and owner of a part of the host."""

    place: str  # a directory; "" for the distribution's place, "?" where this release does not know it
    owner: PartOwner


@frozen
class Platform:
    """Recognised by two independent marks: the name of the system, and a file in its place."""

    name: str | Unread  # "GKE node"; "" for a host of no platform that this release knows
    base: Base | Unread
    virtual: Virtual | Unread  # a machine by the firmware's name of the board; a container by marks of its manager and the kernel
    contained: bool | Unread  # an application's container (such as a pod) is checked, not its host
    operator: tuple[str, ...] | Unread  # parts from the GPU Operator's containers: driver, toolkit
    gpus: Part | Unread  # "" on PCI
    driver: Part | Unread
    libraries: Part | Unread
    toolkit: Part | Unread
    runtime: Part | Unread  # the runtime's configuration
    kubelet: Part | Unread  # the kubelet's configuration
    rdma: Part | Unread  # the kernel modules and libraries of RDMA: inbox and DOCA-OFED are the host's own
    library_directories: tuple[str, ...] | Unread  # the directories of the driver's libraries, where the platform has its own
    firmware_directories: tuple[str, ...] | Unread  # as /lib/firmware, for the driver's firmware
    #: Non-empty archives of DKMS; a unit of the image installs one at its first boot.
    module_archives: tuple[str, ...] | Unread

    @property
    def in_container(self) -> bool:
        """Whether it is known to be in a container, with a system of its own or an application's; False where unread."""
        return self.contained is True or (not isinstance(self.virtual, Unread) and self.virtual == "container")

    def part(self, name: str) -> Part | Unread:
        return {
            "gpus": self.gpus, "driver": self.driver, "toolkit": self.toolkit, "runtime": self.runtime, "kubelet": self.kubelet,
            "rdma": self.rdma,
        }[name]  # fmt: skip
