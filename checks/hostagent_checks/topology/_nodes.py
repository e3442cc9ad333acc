"""NUMA nodes that count for jobs, and devices that are not judged."""

from hostagent.check import Step, need, skip
from hostagent.domains.topology.distance import cpu_nodes
from hostagent.facts.gpu import Gpu
from hostagent.facts.topology import Nic, Topology

#: Who has this driver holds the device for a virtual machine.
VFIO = "vfio-pci"
#: The virtual machine below which the host is a guest.
MACHINE = "vm"
ASK_FIRMWARE = (
    Step("configure", "Update the board's firmware: it names the node of each device (ACPI _PXM)."),
    Step("contact_owner", "Ask the vendor of the board.", if_back=True),
)
ASK_PROVIDER = (Step("contact_owner", "Ask the virtual machine's provider for the NUMA nodes of its devices."),)


def skip_one_node(topology: Topology) -> None:
    if len(cpu_nodes(topology)) < 2:
        skip("the host has one NUMA node with CPUs")


def skip_passed_on(device: "Gpu | Nic") -> None:
    if need(device.bound_to) == VFIO:
        skip("the device is bound to vfio-pci, for a virtual machine")


def skip_without_rdma(nics: tuple[Nic, ...]) -> None:
    """What costs a few percent between nodes is no matter on a host that jobs do not leave."""
    if not any(need(nic.rdma) for nic in nics):
        skip("no NIC has an RDMA device")
