"""Sockets, cores and NUMA nodes of a host, as sysfs shows them (Linux kernel, ABI/stable/sysfs-devices-node and -system-cpu)."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hostagent.facts.cpulist import format_cpulist, parse_cpulist
from tests.trees.tree import Tree

_CPUS, _NODES = "/sys/devices/system/cpu", "/sys/devices/system/node"
_KIB_PER_GIB = 1024**2


@dataclass(frozen=True)
class Node:
    """A NUMA node. `package` is the socket of its CPUs."""

    id: int
    cpus: str  # cpulist, "" for none
    package: int
    memory_gib: int = 512
    hugepages: dict[int, int] = field(default_factory=dict)  # KiB of a page, how many


def near(nodes: tuple[Node, ...]) -> Callable[[Node, Node], int]:
    """10 to itself, 12 within the socket, 32 to another one; without a socket 80."""
    return lambda a, b: 10 if a.id == b.id else 80 if not a.cpus or not b.cpus else 12 if a.package == b.package else 32


def install(
    tree: Tree, nodes: tuple[Node, ...], *, smt: bool = False, governor: str = "", distance: "Callable[[Node, Node], int] | None" = None
) -> None:
    """CPUs, sockets, cores and nodes, instead of those that were there. With `smt`, CPU n and CPU n + half of them are one core.

    `governor` "" is a host whose kernel does not set frequencies, such as a virtual machine.
    """
    for place in (_CPUS, _NODES):
        if tree.at(place).exists():
            tree.remove(place)
    tree.nodes = nodes
    cpus = [cpu for node in nodes for cpu in parse_cpulist(node.cpus)]
    whole = format_cpulist(cpus)
    for name in ("online", "possible", "present"):
        tree.write(f"{_CPUS}/{name}", f"{whole}\n")
    tree.write(f"{_CPUS}/smt/active", f"{int(smt)}\n")
    half = len(cpus) // 2
    for package in sorted({node.package for node in nodes if node.cpus}):
        mine = [cpu for node in nodes if node.package == package for cpu in parse_cpulist(node.cpus)]
        for cpu in mine:
            core = {cpu, (cpu + half) % len(cpus)} if smt else {cpu}
            _cpu(tree, cpu, package, mine, core)
    for number, cpu in enumerate(cpus if governor else ()):
        tree.write(f"{_CPUS}/cpufreq/policy{cpu}/scaling_governor", f"{governor}\n")
        tree.write(f"{_CPUS}/cpufreq/policy{cpu}/affected_cpus", f"{cpu}\n") if not number else None
    for name, listed in (("online", nodes), ("possible", nodes), ("has_cpu", [node for node in nodes if node.cpus])):
        tree.write(f"{_NODES}/{name}", f"{format_cpulist(node.id for node in listed)}\n")
    measure = distance or near(nodes)
    for node in nodes:
        _node(tree, node, [measure(node, other) for other in nodes], len(cpus))
    tree.write("/proc/meminfo", f"MemTotal:       {sum(node.memory_gib for node in nodes) * _KIB_PER_GIB} kB\n")
    tree.write("/proc/sys/kernel/numa_balancing", "0\n")


def _cpu(tree: Tree, cpu: int, package: int, mine: list[int], core: set[int]) -> None:
    directory = f"{_CPUS}/cpu{cpu}/topology"
    files = {
        "physical_package_id": str(package), "core_id": str(min(core)), "thread_siblings_list": format_cpulist(core), "thread_siblings": mask(core),
        "core_cpus": mask(core), "core_siblings": mask(mine), "package_cpus": mask(mine), "package_cpus_list": format_cpulist(mine),
    }  # fmt: skip
    for name, text in files.items():
        tree.write(f"{directory}/{name}", f"{text}\n")


def _node(tree: Tree, node: Node, distances: list[int], cpus: int) -> None:
    directory = f"{_NODES}/node{node.id}"
    total = node.memory_gib * _KIB_PER_GIB
    for cpu in parse_cpulist(node.cpus):
        tree.link(f"{directory}/cpu{cpu}", f"../../cpu/cpu{cpu}")
    tree.write(f"{directory}/cpulist", f"{node.cpus}\n")
    tree.write(f"{directory}/cpumap", f"{mask(parse_cpulist(node.cpus), cpus)}\n")
    tree.write(f"{directory}/meminfo", f"Node {node.id} MemTotal:       {total} kB\nNode {node.id} MemFree:        {total // 2} kB\n")
    tree.write(f"{directory}/distance", " ".join(map(str, distances)) + "\n")
    for size in (2048, 1048576):
        for name in ("nr_hugepages", "free_hugepages"):
            tree.write(f"{directory}/hugepages/hugepages-{size}kB/{name}", f"{node.hugepages.get(size, 0)}\n")


def mask(cpus: "list[int] | set[int] | tuple[int, ...]", at_least: int = 1) -> str:
    """Words of 32 bits, the highest first."""
    bits = sum(1 << cpu for cpu in cpus)
    words = max(1, -(-max(bits.bit_length(), at_least) // 32))
    return ",".join(f"{bits >> 32 * word & 0xFFFFFFFF:08x}" for word in reversed(range(words)))


def reach(tree: Tree, number: int, cpus: str) -> None:
    """A socket and node of these CPUs, where the host has no node of that number yet."""
    nodes: tuple[Node, ...] = tree.nodes
    if nodes and all(node.id != number for node in nodes) and number >= 0:
        install(tree, (*nodes, Node(number, cpus, number)))
