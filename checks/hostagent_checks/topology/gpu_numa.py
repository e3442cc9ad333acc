"""The firmware does not say which NUMA node the GPU is near, so nothing can place CPUs and memory next to it.

The device plug-in then reports no topology for the GPU, and the kubelet places its pods as if the GPU were equally far from every CPU.
NCCL attaches it to a CPU of its choice. On a host with one node there is nothing to choose, and in a virtual machine it is its provider's.
"""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform
from hostagent.facts.topology import Topology

from ._nodes import ASK_FIRMWARE, ASK_PROVIDER, MACHINE, skip_one_node, skip_passed_on


@check(
    title="The NUMA node of the GPU is known",
    severity="warning",
    since="0.1",
    because=("gpu.on_bus",),
    headline="The firmware names no NUMA node for {device}",
    remedy=ASK_FIRMWARE,
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci, numa_node",),
    confirm=("cat /sys/bus/pci/devices/<address>/numa_node", "nvidia-smi topo -m"),
)
def gpu_numa(gpu: Gpu, topology: Topology, platform: Platform) -> Findings:
    if need(gpu.numa_node) >= 0:
        return
    skip_passed_on(gpu)
    skip_one_node(topology)
    text = "the GPU's NUMA node is not known"
    if need(platform.virtual) == MACHINE:
        yield fail(text, code="machine", found="-1", wanted="a node", remedy=ASK_PROVIDER, at_most="info")
    else:
        yield fail(text, code="firmware", found="-1", wanted="a node")
