"""Each container of a pod is aligned by itself: a container with CPUs and one with GPUs may end up on different NUMA nodes.

Under the topology scope container the kubelet looks at one container at a time, and a sidecar may take what the next one needs. Under
the scope pod it looks at the whole pod. Pods of one container do not differ. A pod of several containers that together take more than one
NUMA node is refused under single-numa-node with the scope pod: ask 'hostagent topology --pod' about its manifest before a change. It counts
where the profile declares pods that take a part of the host (sub_node).
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.kubelet import Kubelet
from hostagent.profile import Profile

from ._host import accepted, restart

_ASK = Step("configure", "Ask which of your pods fit the scope pod.", "hostagent topology --pod <file>")
_SET = Step("configure", "Set topologyManagerScope to pod in the kubelet's configuration.")


@check(
    title="The kubelet aligns a pod as a whole",
    severity="info",
    since="0.1",
    headline="The kubelet aligns each container of a pod by itself",
    remedy=(_ASK, _SET, Step("restart_service", "Restart the kubelet.", "systemctl restart kubelet")),
    references=("Kubernetes, Control Topology Management Policies on a Node",),
    confirm=("grep -n topologyManager /var/lib/kubelet/config.yaml",),
)
def scope(kubelet: Kubelet, profile: Profile) -> Findings:
    config = accepted(kubelet)
    policy = need(config.topology_manager_policy)
    if policy == "none":
        skip("the kubelet aligns nothing: topologyManagerPolicy is none")
    if (found := need(config.topology_manager_scope)) != "pod":
        yield fail(
            f"topologyManagerScope is {found}, under the policy {policy}",
            code="container",
            found=found,
            wanted="pod",
            remedy=(_SET, restart(kubelet)),
            at_least="warning" if "sub_node" in profile.pods else None,
        )
