"""The kernel moves memory between NUMA nodes on its own account: processes of a job stall while it does so.

It is on as Linux comes, and harmless for most programs. Looked at are hosts with an RDMA device: their jobs bind processes and memory
themselves, and all nodes wait for one that stalls.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.driver.boot import write_line
from hostagent.facts.topology import Nic, Topology

from ._nodes import skip_one_node, skip_without_rdma


@check(
    title="The kernel leaves memory on its NUMA node",
    severity="info",
    scope="fabric",
    since="0.1",
    headline="The kernel moves memory between NUMA nodes on its own account",
    remedy=(
        Step(
            "configure",
            "Switch it off at each boot.",
            command=write_line("/etc/sysctl.d/90-numa-balancing.conf", "kernel.numa_balancing = 0"),
        ),
        Step("configure", "Switch it off now.", command="sysctl -w kernel.numa_balancing=0"),
    ),
    references=("Linux kernel, Documentation/admin-guide/sysctl/kernel, numa_balancing",),
    confirm=("cat /proc/sys/kernel/numa_balancing",),
)
def numa_balancing(topology: Topology, nics: tuple[Nic, ...]) -> Findings:
    skip_one_node(topology)
    skip_without_rdma(nics)
    if need(topology.numa_balancing):
        yield fail("NUMA balancing is on", code="on", found="on", wanted="off")
