"""A pod that takes a part of the host gets memory of any NUMA node: the memory manager is off, and the profile declares such pods.

Without the memory manager of the policy Static the kernel gives a pod memory where its threads run, which is near its GPUs as long as a
node has some left. Static keeps it there. It needs reservedMemory, whose sum per resource must be what kubeReserved, systemReserved and
evictionHard leave to the system. It is asked for where the profile's shape sub_node names memory, and only there: a pod that takes all
GPUs and whose memory fits one NUMA node is refused by restricted under Static, because its memory wants one node and its GPUs all.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.kubelet import Kubelet
from hostagent.profile import Profile

from ._host import accepted, without_state

_SET = Step("configure", "Set memoryManagerPolicy to Static, with reservedMemory of each NUMA node.")


@check(
    title="The kubelet keeps a pod's memory near its GPUs",
    severity="warning",
    since="0.1",
    because=("kubelet.sub_node",),
    headline="The kubelet gives pods memory of any NUMA node",
    remedy=(_SET, Step("restart_service", "Drain the node, and start the kubelet without its memory_manager_state.")),
    references=("Kubernetes, Utilizing the NUMA-aware Memory Manager",),
    confirm=("grep -n -i memoryManagerPolicy /var/lib/kubelet/config.yaml", "cat /var/lib/kubelet/memory_manager_state"),
)
def memory_manager(kubelet: Kubelet, profile: Profile) -> Findings:
    shape = profile.pods.get("sub_node")
    if shape is None or str(shape.memory) == "0":
        skip("the profile declares no memory of a pod that takes a part of the host")
    found = need(accepted(kubelet).memory_manager_policy)
    if found != "Static":
        steps = (_SET, without_state(kubelet, "memory_manager_state"))
        yield fail(f"memoryManagerPolicy is {found}", code="not-static", found=found, wanted="Static", remedy=steps)
