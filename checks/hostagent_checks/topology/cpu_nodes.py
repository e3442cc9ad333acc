"""A socket is split into another number of NUMA nodes than the profile says.

Firmware can show one socket as several nodes (NPS on AMD, SNC on Intel). Each node then has fewer CPUs, less memory and fewer GPUs, so
a pod that has to fit into one node must be smaller. Some boards are faster so: the profile says what this site wants.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.topology.distance import cpu_nodes as nodes_of
from hostagent.facts.cpulist import parse_cpulist
from hostagent.facts.topology import Topology
from hostagent.profile import Profile


@check(
    title="Each socket has as many NUMA nodes as the profile says",
    severity="info",
    since="0.1",
    headline="A socket has another number of NUMA nodes than the profile says",
    remedy=(
        Step("configure", "Change the number of nodes per socket (NPS or SNC) in the firmware setup, or topology.cpu_nodes_per_package."),
        Step("reboot", "Reboot the node."),
    ),
    references=("Linux kernel, Documentation/ABI/stable/sysfs-devices-node",),
    confirm=("cat /sys/devices/system/node/node*/cpulist", "cat /sys/devices/system/cpu/cpu*/topology/package_cpus_list"),
)
def cpu_nodes(topology: Topology, profile: Profile) -> Findings:
    wanted = profile.topology.cpu_nodes_per_package
    if not wanted:
        skip("the profile does not say how many NUMA nodes a socket has")
    nodes = [set(parse_cpulist(need(node.cpus))) for node in nodes_of(topology)]
    for package in need(topology.packages):
        cpus = set(parse_cpulist(package.cpus))
        found = sum(not cpus.isdisjoint(node) for node in nodes)
        if found != wanted:
            yield fail(f"socket {package.id} has {found} NUMA nodes", code="other", found=found, wanted=wanted)
            return
