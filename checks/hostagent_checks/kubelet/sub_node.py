"""A pod that takes a part of this host, as the profile's shape sub_node declares it, is refused by its kubelet.

The scheduler counts GPUs and does not know NUMA nodes. It binds the pod to this host, and the kubelet refuses it: the pod fails with
TopologyAffinityError or another word of admission, its controller makes another, and that one may come back here. restricted and
single-numa-node refuse a pod whose GPUs, CPUs, memory and NICs do not fit the same smallest set of NUMA nodes. The host is judged as it is
without its pods. A profile that declares no sub_node asks for nothing here.
"""

from hostagent.check import Findings, Step, check, skip
from hostagent.facts.gpu import Gpu
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.topology import Topology
from hostagent.profile import Profile

from ._shapes import empty_node, refused


@check(
    title="The kubelet admits a pod that takes a part of the host",
    severity="critical",
    since="0.1",
    because=("kubelet.config_accepted", "gpu.present:none"),
    headline="A pod of the shape sub_node cannot start on this host",
    remedy=(
        Step("configure", "Change the kubelet's configuration as this prints.", "hostagent topology --pod gpus=4"),
        Step("restart_service", "Restart the kubelet.", "systemctl restart kubelet"),
    ),
    references=("Kubernetes, Control Topology Management Policies on a Node",),
    confirm=("journalctl -b -u kubelet | grep -E 'TopologyAffinityError|UnexpectedAdmissionError'",),
)
def sub_node(kubelet: Kubelet, topology: Topology, gpus: tuple[Gpu, ...], profile: Profile) -> Findings:
    shape = profile.pods.get("sub_node") or skip("the profile declares no shape sub_node")
    yield from refused(shape, empty_node(kubelet, topology, gpus), kubelet)
