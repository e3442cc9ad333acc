"""A pod of another shape that the profile declares is refused by the kubelet of this host.

Next to full_node and sub_node a profile may declare shapes under names of its own. Each that the kubelet refuses is told here,
with its name.
"""

from hostagent.check import Findings, Step, check, skip
from hostagent.facts.gpu import Gpu
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.topology import Topology
from hostagent.profile import Profile

from ._shapes import empty_node, refused

#: They have checks of their own.
_JUDGED = ("full_node", "sub_node")


@check(
    title="The kubelet admits the other pods that the profile declares",
    severity="warning",
    since="0.1",
    because=("kubelet.config_accepted", "gpu.present:none"),
    headline="A pod that the profile declares cannot start on this host",
    remedy=(
        Step("configure", "Change the kubelet's configuration as this prints.", "hostagent topology --pod gpus=2"),
        Step("restart_service", "Restart the kubelet.", "systemctl restart kubelet"),
    ),
    references=("Kubernetes, Control Topology Management Policies on a Node",),
    confirm=("journalctl -b -u kubelet | grep -E 'TopologyAffinityError|UnexpectedAdmissionError'",),
)
def shapes(kubelet: Kubelet, topology: Topology, gpus: tuple[Gpu, ...], profile: Profile) -> Findings:
    others = {name: shape for name, shape in profile.pods.items() if name not in _JUDGED}
    if not others:
        skip("the profile declares no other shape than full_node and sub_node")
    node = empty_node(kubelet, topology, gpus)
    for name, shape in sorted(others.items()):
        yield from refused(shape, node, kubelet, name)
