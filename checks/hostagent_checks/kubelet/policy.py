"""The kubelet may give a pod GPUs, CPUs and NICs of different NUMA nodes, though the profile declares pods that take a part of
the host.

Under the topology policies none and best-effort a pod starts wherever something is free, and its traffic may cross between the
sockets. Under restricted, and under single-numa-node, it gets all of the smallest set of nodes, or is refused. single-numa-node
refuses every pod that needs more than one node, one that takes all GPUs too; restricted admits it if its CPUs and memory want as
many nodes as its GPUs. A pod that is refused fails, and its controller makes another: a scheduler that knows NUMA nodes keeps it
from coming back to the same host.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.topology.distance import cpu_nodes
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.topology import Topology
from hostagent.profile import Profile

from ._host import accepted, restart

_ALIGNING = ("restricted", "single-numa-node")
_ASK = Step("configure", "Ask which of your pods would then be refused.", "hostagent topology --pod <file>")
_SET = Step("configure", "Set topologyManagerPolicy to restricted in the kubelet's configuration.")


@check(
    title="The kubelet keeps what a pod gets together",
    severity="warning",
    since="0.1",
    because=("kubelet.sub_node",),
    headline="The kubelet may give a pod GPUs and CPUs of different NUMA nodes",
    remedy=(_ASK, _SET, Step("restart_service", "Restart the kubelet.", "systemctl restart kubelet")),
    references=("Kubernetes, Control Topology Management Policies on a Node",),
    confirm=("grep -n topologyManagerPolicy /var/lib/kubelet/config.yaml",),
)
def policy(kubelet: Kubelet, topology: Topology, profile: Profile) -> Findings:
    if "sub_node" not in profile.pods:
        skip("the profile declares no pods that take a part of the host")
    found = need(accepted(kubelet).topology_manager_policy)
    if found in _ALIGNING:
        return
    if len(cpu_nodes(topology)) < 2:
        skip("the CPUs are one NUMA node")
    wanted = " or ".join(_ALIGNING)
    yield fail(f"topologyManagerPolicy is {found}", code="spreads", found=found, wanted=wanted, remedy=(_SET, restart(kubelet)))
