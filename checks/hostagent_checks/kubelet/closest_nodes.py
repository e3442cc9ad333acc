"""A pod that needs two NUMA nodes may get two that are far from each other.

Where the CPUs are more than two NUMA nodes (two sockets with SNC or NPS), and some lie nearer to each other than others, the
topology manager takes the lowest ids that fit unless its option prefer-closest-numa-nodes is on. The kubelet panics with that
option on a host whose NUMA nodes are not numbered without gaps, so there this check does not apply. It counts where the profile
declares pods that take a part of the host (sub_node).
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.topology.distance import cpu_nodes
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.topology import NumaNode, Topology
from hostagent.profile import Profile

from ._host import accepted, restart

_OPTION = "prefer-closest-numa-nodes"
_SET = Step("configure", f"Set {_OPTION} to true in topologyManagerPolicyOptions.")


@check(
    title="The kubelet prefers NUMA nodes that are near each other",
    severity="info",
    since="0.1",
    headline="The kubelet does not look at how far NUMA nodes are from each other",
    remedy=(_SET, Step("restart_service", "Restart the kubelet.", "systemctl restart kubelet")),
    references=("Kubernetes, Control Topology Management Policies on a Node",),
    confirm=("grep -n -A3 topologyManagerPolicyOptions /var/lib/kubelet/config.yaml", "cat /sys/devices/system/node/node*/distance"),
)
def closest_nodes(kubelet: Kubelet, topology: Topology, profile: Profile) -> Findings:
    config = accepted(kubelet)
    policy = need(config.topology_manager_policy)
    if policy not in ("best-effort", "restricted"):
        skip(f"no pod gets a chosen set of NUMA nodes under the policy {policy}")
    if (_OPTION, "true") in need(config.topology_manager_policy_options):
        return
    nodes = cpu_nodes(topology)
    if len(nodes) < 3:
        skip("there is only one set of two NUMA nodes")
    ids = [one.id for one in need(topology.numa_nodes)]
    if ids != list(range(len(ids))):
        skip(f"the NUMA nodes are not numbered without gaps: the kubelet panics with {_OPTION}")
    if len(_distances_between(nodes, ids)) < 2:
        skip("all NUMA nodes are equally far from each other")
    yield fail(
        f"{_OPTION} is off, and the CPUs are {len(nodes)} NUMA nodes",
        code="off",
        found="off",
        wanted="on",
        remedy=(_SET, restart(kubelet)),
        at_least="warning" if "sub_node" in profile.pods else None,
    )


def _distances_between(nodes: tuple[NumaNode, ...], ids: list[int]) -> frozenset[int]:
    """The distances of these nodes from each other; `ids` are those of all nodes, in their order."""
    those, found = {one.id for one in nodes}, set[int]()
    for one in nodes:
        row = need(one.distances)
        if len(row) != len(ids):
            need(Unread("error", f"NUMA node {one.id} has {len(row)} distances, and there are {len(ids)} nodes"))
        found |= {distance for other, distance in zip(ids, row, strict=True) if other in those and other != one.id}
    return frozenset(found)
