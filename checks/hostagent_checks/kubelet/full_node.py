"""A pod that takes all GPUs of this host, as those of multi-node jobs do, is refused by its kubelet.

The scheduler counts GPUs and does not know NUMA nodes. It binds the pod to this host, and the kubelet refuses it: the pod fails
with TopologyAffinityError, SMTAlignmentError or UnexpectedAdmissionError, its controller makes another, and that one may come
back here. On a host with two NUMA nodes the policy single-numa-node refuses every such pod; restricted refuses those whose CPUs
or memory fit fewer nodes than their GPUs. The profile's shape full_node says what the pod asks for; 'hostagent topology --pod'
answers for any other, and prints the change as a drop-in. The host is judged as it is without its pods: GPUs that are taken now
count as free.
"""

from hostagent.check import Findings, Step, check, skip
from hostagent.facts.gpu import Gpu
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.topology import Topology
from hostagent.profile import Profile

from ._shapes import empty_node, refused


@check(
    title="The kubelet admits a pod that takes all GPUs",
    severity="warning",
    scope="fabric",
    since="0.1",
    because=("kubelet.config_accepted", "gpu.present:none"),
    headline="A pod that takes all GPUs of this host cannot start",
    remedy=(
        Step("configure", "Change the kubelet's configuration as this prints.", "hostagent topology --pod gpus=0"),
        Step("restart_service", "Restart the kubelet.", "systemctl restart kubelet"),
    ),
    references=("Kubernetes, Control Topology Management Policies on a Node",),
    confirm=("journalctl -b -u kubelet | grep -E 'TopologyAffinityError|UnexpectedAdmissionError'",),
)
def full_node(kubelet: Kubelet, topology: Topology, gpus: tuple[Gpu, ...], profile: Profile) -> Findings:
    shape = profile.pods.get("full_node") or skip("the profile declares no shape full_node")
    yield from refused(shape, empty_node(kubelet, topology, gpus), kubelet)
