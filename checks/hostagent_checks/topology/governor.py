"""The kernel lowers the CPUs' frequency: what NCCL does on the CPU between nodes takes longer and varies more.

On most hosts that is as it comes, and right. Looked at are hosts with an RDMA device, whose jobs wait for the slowest CPU of all nodes.
"""

from hostagent.check import Findings, Step, check, counted, fail, need, skip
from hostagent.facts.cpulist import parse_cpulist
from hostagent.facts.topology import Nic, Topology

from ._nodes import skip_without_rdma

_WANTED = "performance"


@check(
    title="The CPUs keep their frequency up",
    severity="info",
    scope="fabric",
    since="0.1",
    headline="The kernel lowers the CPUs' frequency when they have little to do",
    remedy=(Step("configure", "Keep the frequency up.", command="cpupower frequency-set -g performance"),),
    references=("Linux kernel, Documentation/admin-guide/pm/cpufreq",),
    confirm=("grep -H . /sys/devices/system/cpu/cpufreq/policy*/scaling_governor",),
)
def governor(topology: Topology, nics: tuple[Nic, ...]) -> Findings:
    policies = need(topology.governors)
    if not policies:
        skip("the kernel does not set the CPUs' frequency here")
    skip_without_rdma(nics)
    others = {word: 0 for one in policies if (word := need(one.governor)) != _WANTED}
    for one in policies:
        if (word := need(one.governor)) in others:
            others[word] += len(parse_cpulist(one.cpus))
    if others:
        found = ", ".join(f"{word} on {counted(number, 'CPU')}" for word, number in sorted(others.items()))
        yield fail(f"the frequency governor is {found}", code="other", found=found, wanted=_WANTED)
