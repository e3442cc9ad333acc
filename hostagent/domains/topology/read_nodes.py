"""NUMA nodes: CPUs, memory, distances, huge pages (Linux kernel, ABI/stable/sysfs-devices-node).

Nodes are found by their directories: the kernel has one for each online node, and the file ``online`` came later.
"""

# A kernel without NUMA is one node 0 with all CPUs, MemTotal of /proc/meminfo and distance (10,). Free huge pages are read only if
# there are huge pages.

import re

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, need, then
from hostagent.domains.topology.read_cpus import list_in
from hostagent.facts.cpulist import format_cpulist, parse_cpumap
from hostagent.facts.topology import Hugepages, NumaNode
from hostagent.host.source import Source
from hostagent.host.values import line_in, number_in

_NODES = "/sys/devices/system/node"
_HUGEPAGES = "/sys/kernel/mm/hugepages"
_NODE = re.compile(r"node([0-9]{1,5})", re.ASCII)
_SIZE = re.compile(r"hugepages-([0-9]{1,12})kB", re.ASCII)
_TOTAL = re.compile(r"MemTotal:[ \t]{0,40}([0-9]{1,15}) kB")
_MEMORY = Keep("matches", (_TOTAL.pattern,))
_DISTANCE = re.compile(r"[0-9]{1,5}", re.ASCII)
_KIB = 1024
#: More than a kernel can have (CONFIG_NODES_SHIFT is at most 10).
_MOST_NODES = 1024


@stops_at_unread
def numa_nodes(source: Source, cpus: "tuple[int, ...] | Unread") -> "tuple[NumaNode, ...] | Unread":
    """By id. A kernel without NUMA has one node, of id 0."""
    names = need(source.listdir(_NODES, absent=()))
    ids = sorted(int(found[1]) for name in names if (found := _NODE.fullmatch(name)))
    if len(ids) > _MOST_NODES:
        return Unread("error", f"{_NODES} has {len(ids)} nodes, wanted at most {_MOST_NODES}")
    return tuple(_node(source, number, len(ids)) for number in ids) or (_whole(source, cpus),)


def parse_mem_total(text: str) -> "int | Unread":
    r"""MemTotal in bytes, from the ``meminfo`` of a node or of the host.

    >>> parse_mem_total("Node 1 MemTotal:       1056764928 kB\nNode 1 MemFree: 7 kB\n")
    1082127286272
    """
    match = _TOTAL.search(text)
    return int(match[1]) * _KIB if match else Unread("error", f"meminfo: found {text[:40]!r}, wanted a line MemTotal")


def parse_distances(text: str, nodes: int) -> "tuple[int, ...] | Unread":
    r"""One number per online node.

    >>> parse_distances("10 21\n", 2), parse_distances("10\n", 2)
    ((10, 21), Unread('error', "distance: found '10', wanted 2 numbers"))
    """
    words = text.split()
    if len(words) == nodes and all(map(_DISTANCE.fullmatch, words)):
        return tuple(map(int, words))
    return Unread("error", f"distance: found {text.strip()[:40]!r}, wanted {nodes} numbers")


def _whole(source: Source, cpus: "tuple[int, ...] | Unread") -> NumaNode:
    memory = then(source.text("/proc/meminfo", keep=_MEMORY), parse_mem_total)
    return NumaNode(0, then(cpus, format_cpulist), memory, (10,), _hugepages(source, _HUGEPAGES))


def _node(source: Source, number: int, nodes: int) -> NumaNode:
    directory = f"{_NODES}/node{number}"
    return NumaNode(
        id=number,
        cpus=then(_cpus(source, directory), format_cpulist),
        memory_bytes=then(source.text(f"{directory}/meminfo", keep=_MEMORY), parse_mem_total),
        distances=then(line_in(source, f"{directory}/distance"), lambda text: parse_distances(text, nodes)),
        hugepages=_hugepages(source, f"{directory}/hugepages"),
    )


def _cpus(source: Source, directory: str) -> "tuple[int, ...] | Unread":
    """CPUs of a node. Kernels before 2.6.29 and some emulated trees have only the mask."""
    listed = list_in(source, f"{directory}/cpulist")
    if not isinstance(listed, Unread) or listed.why != "absent":
        return listed
    mask = line_in(source, f"{directory}/cpumap")
    try:
        return then(mask, parse_cpumap)
    except ValueError as error:
        return Unread("error", f"{directory}/cpumap: {error}")


@stops_at_unread
def _hugepages(source: Source, directory: str) -> tuple[Hugepages, ...]:
    """By size; the number of free pages is read only if there are pages."""
    names = need(source.listdir(directory, absent=()))
    sizes = sorted(int(found[1]) for name in names if (found := _SIZE.fullmatch(name)))
    pages: list[Hugepages] = []
    for size in sizes:
        total = need(number_in(source, f"{directory}/hugepages-{size}kB/nr_hugepages"))
        free = need(number_in(source, f"{directory}/hugepages-{size}kB/free_hugepages")) if total else 0
        pages.append(Hugepages(size * _KIB, total, free))
    return tuple(pages)
