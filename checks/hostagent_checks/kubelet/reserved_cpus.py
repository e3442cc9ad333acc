"""All CPUs that are reserved for the system are of one NUMA node: it has fewer for pods than the others.

With the static CPU manager a pod that asks for all CPUs near its GPUs then fits the other nodes alone, and a second one of its kind is
refused. Reserve as many of each node.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.topology.distance import cpu_nodes
from hostagent.facts.cpulist import parse_cpulist
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.topology import Topology

from ._host import accepted, without_state

_SET = Step("configure", "Name as many CPUs of each NUMA node in reservedSystemCPUs.")


@check(
    title="The reserved CPUs are spread over the NUMA nodes",
    severity="info",
    since="0.1",
    headline="All CPUs that are reserved for the system are of one NUMA node",
    remedy=(_SET, Step("restart_service", "Drain the node, and start the kubelet without its cpu_manager_state.")),
    references=("Kubernetes, Reserve Compute Resources for System Daemons",),
    confirm=("grep -n reservedSystemCPUs /var/lib/kubelet/config.yaml", "cat /sys/devices/system/node/node*/cpulist"),
)
def reserved_cpus(kubelet: Kubelet, topology: Topology) -> Findings:
    config = accepted(kubelet)
    if need(config.cpu_manager_policy) != "static":
        skip("no container gets CPUs of its own")
    listed = need(config.reserved_system_cpus)
    if not listed:
        skip("the kubelet chooses the reserved CPUs itself")
    nodes = cpu_nodes(topology)
    if len(nodes) < 2:
        skip("the CPUs are one NUMA node")
    reserved = _cpus_of(listed)
    holding = [one.id for one in nodes if reserved & _cpus_of(need(one.cpus))]
    if len(holding) == 1:
        found = f"CPUs {listed}, of NUMA node {holding[0]}"
        steps = (_SET, without_state(kubelet, "cpu_manager_state"))
        yield fail(f"reservedSystemCPUs names {found} alone", code="one-node", found=found, wanted="CPUs of each node", remedy=steps)


def _cpus_of(text: str) -> frozenset[int]:
    """The CPUs of a list; unread where it is none."""
    try:
        return frozenset(parse_cpulist(text))
    except ValueError as error:
        return need(Unread("error", str(error)))
