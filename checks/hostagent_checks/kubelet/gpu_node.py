"""The kubelet does not know on which NUMA node a GPU is, or takes it for another: it cannot put a pod's CPUs near its GPUs.

A device without a NUMA node fits every set of nodes, so the topology policy has no effect on it, without any message. NVIDIA's
device plug-in reads the node from sysfs as it starts, and reports none where it reads -1 and in WSL. Where sysfs names a node
now, the plug-in has read something else, or does not report it. Only the kubelet's podresources socket tells it: hostagent asks
it where its extra podresources is installed.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.topology.distance import cpu_nodes
from hostagent.facts.gpu import Gpu
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.topology import Topology

from ._devices import given, of_gpu
from ._host import accepted

_LOG = Step("restart_service", "Restart this node's nvidia-device-plugin pod, and read its log.")


@check(
    title="The kubelet knows the GPU's NUMA node",
    severity="warning",
    since="0.1",
    headline="The kubelet does not know the NUMA node of {device}",
    remedy=(_LOG,),
    references=("NVIDIA device plug-in for Kubernetes", "Kubernetes, Device Plugins"),
    confirm=("cat /sys/bus/pci/devices/<address>/numa_node",),
)
def gpu_node(gpu: Gpu, kubelet: Kubelet, topology: Topology) -> Findings:
    state = given(kubelet)
    if need(state.devices_from) != "podresources":
        skip("podresources was not asked, which alone knows it")
    if need(accepted(kubelet).topology_manager_policy) == "none":
        skip("the kubelet aligns nothing: topologyManagerPolicy is none")
    mine = of_gpu(gpu, need(state.devices))
    if not mine:
        skip("no device plug-in has registered it as a whole")
    if len(cpu_nodes(topology)) < 2:
        skip("the CPUs are one NUMA node")
    if (wanted := need(gpu.numa_node)) < 0:
        skip("the firmware names no NUMA node of it")
    told = [need(one.nodes) for one in mine]
    if () in told:
        yield fail("its device plug-in reports no NUMA node of it", code="no-node", found="none", wanted=wanted)
    elif wrong := next((nodes for nodes in told if nodes != (wanted,)), None):
        yield fail(
            f"its device plug-in reports NUMA node {', '.join(map(str, wrong))}, sysfs {wanted}",
            code="other-node",
            found=wrong,
            wanted=wanted,
            headline="The kubelet takes {device} for one of another NUMA node",
        )
