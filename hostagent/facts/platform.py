"""What kind of host it is, and to whom the parts of it belong that hostagent judges."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Base, PartOwner, Virtual


@frozen
class Part:
    """Where a part of the host lies, and who changes it."""

    place: str  # a directory; "" where the distribution puts it, "?" where this release does not know
    owner: PartOwner


@frozen
class Platform:
    """Recognised by two marks that are independent: what the system says it is, and the thing in its place."""

    name: str | Unread  # "GKE node"; "" for a host of no platform that this release knows
    base: Base | Unread
    virtual: Virtual | Unread  # by the firmware's word on the board; a container by its manager's word and the kernel's
    contained: bool | Unread  # an application's container is judged, such as a pod, with what it was given, and not its host
    operator: tuple[str, ...] | Unread  # what the GPU Operator's containers bring: driver, toolkit
    gpus: Part | Unread  # "" on PCI
    driver: Part | Unread
    libraries: Part | Unread
    toolkit: Part | Unread
    runtime: Part | Unread  # the runtime's configuration
    kubelet: Part | Unread  # the kubelet's configuration
    rdma: Part | Unread  # the kernel modules and libraries of RDMA: inbox and DOCA-OFED are the host's own
    library_directories: tuple[str, ...] | Unread  # the directories of the driver's libraries, where the platform has its own
    firmware_directories: tuple[str, ...] | Unread  # as /lib/firmware, for the driver's firmware
    #: Archives of DKMS, with bytes in them, of which a unit of the image installs one at its first boot.
    module_archives: tuple[str, ...] | Unread

    @property
    def in_container(self) -> bool:
        """Known to be in one, with a system of its own or an application's: what was not read, or does not run, is not."""
        return self.contained is True or (not isinstance(self.virtual, Unread) and self.virtual == "container")

    def part(self, name: str) -> Part | Unread:
        return {
            "gpus": self.gpus, "driver": self.driver, "toolkit": self.toolkit, "runtime": self.runtime, "kubelet": self.kubelet,
            "rdma": self.rdma,
        }[name]  # fmt: skip
