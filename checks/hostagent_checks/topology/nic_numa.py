"""The firmware does not say which NUMA node the RDMA card is near, so nothing can place CPUs and memory next to it.

The device plug-in then reports no topology for the card, and NCCL attaches it to a CPU of its choice. Only cards with an RDMA device are
judged: for other traffic it hardly matters. On a host with one node there is nothing to choose.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.platform import Platform
from hostagent.facts.topology import Nic, Topology

from ._nodes import ASK_FIRMWARE, ASK_PROVIDER, MACHINE, skip_one_node, skip_passed_on


@check(
    title="The NUMA node of the RDMA card is known",
    severity="warning",
    scope="fabric",
    since="0.1",
    headline="The firmware names no NUMA node for {device}",
    remedy=ASK_FIRMWARE,
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci, numa_node",),
    confirm=("cat /sys/bus/pci/devices/<address>/numa_node",),
)
def nic_numa(nic: Nic, topology: Topology, platform: Platform) -> Findings:
    if need(nic.numa_node) >= 0:
        return
    if need(nic.virtual_of):
        skip("a virtual function is judged with its card")
    skip_passed_on(nic)
    if not need(nic.rdma):
        skip("the NIC has no RDMA device")
    skip_one_node(topology)
    text = "the card's NUMA node is not known"
    if need(platform.virtual) == MACHINE:
        yield fail(text, code="machine", found="-1", wanted="a node", remedy=ASK_PROVIDER, at_most="info")
    else:
        yield fail(text, code="firmware", found="-1", wanted="a node")
