"""Compares the properties that all nodes of a job must share, and names the minority that differs."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hostagent.core.escape import visible
from hostagent.core.frozen import frozen
from hostagent.core.unread import NOT_APPLICABLE, Unread, UnreadError, need
from hostagent.domains.nccl.node import Fabric, Gdr, Gpu, Node, Port, shown
from hostagent.domains.network.tables.rdma_devices import ETHERNET, IPV4

#: So many nodes are named in one sentence.
_NAMED = 8
_RAIL = "rail"
_GIB = 1024**3


@frozen
class Refusal:
    """A reason to emit no variables."""

    code: str
    """What it is: stable, for programs."""
    message: str
    """The same for people, with the hosts that differ from the others."""
    nodes: tuple[str, ...]
    """Those hosts."""


def differing(what: str, code: str, values: Mapping[str, str]) -> "Refusal | None":
    """`values` by node, in words. None where all are alike.

    >>> differing("MTU", "mtu", {"node1": "9000", "node2": "9000", "node17": "1500"}).message
    'MTU: 2 of 3 nodes have 9000; node17 has 1500'
    >>> differing("MTU", "mtu", {"a": "9000", "b": "1500"}).message
    'MTU: a has 9000; b has 1500'
    """
    groups: dict[str, list[str]] = {}
    for node, value in values.items():
        groups.setdefault(value, []).append(node)
    if len(groups) < 2:
        return None
    ordered = sorted(groups.items(), key=lambda one: -len(one[1]))
    usual, most = ordered[0]
    odd = tuple(node for _, nodes in ordered[1:] for node in nodes)
    is_majority = len(most) > len(ordered[1][1])
    head = [f"{len(most)} of {len(values)} nodes have {usual}"] if is_majority and len(most) > 1 else [has(most, usual)]
    text = "; ".join(head + [has(nodes, value) for value, nodes in ordered[1:]])
    return Refusal(code, f"{what}: {text}", odd if is_majority else tuple(values))


def has(nodes: Sequence[str], value: str) -> str:
    """With its subject.

    >>> has(["a"], "1500"), has(["a", "b"], "1500")
    ('a has 1500', 'a, b have 1500')
    """
    return f"{names(nodes)} {'has' if len(nodes) == 1 else 'have'} {value}"


def names(nodes: Sequence[str]) -> str:
    more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
    return f"{', '.join(nodes[:_NAMED])}{more}"


def rails(node: Node) -> tuple[Port, ...]:
    """The ports that carry the jobs. Raises ``UnreadError``."""
    return tuple(port for port in need(fabric(node).rdma) if need(port.role) == _RAIL)


def fabric(node: Node) -> Fabric:
    """Raises ``UnreadError``."""
    return need(node.facts.fabric)


def in_words(value: Any) -> str:
    """A value, as a sentence has it; what does not apply to a node is a value, too. Raises ``UnreadError`` for what is not known.

    >>> in_words((400.0, 400.0)), in_words(()), in_words(True), in_words(Unread("not-supported", "EFA"))
    ('2 x 400', 'none', 'yes', 'none')
    """
    if isinstance(value, Unread):
        if value.why in NOT_APPLICABLE:
            return "none"
        raise UnreadError(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        counted = Counter(map(in_words, value))
        return ", ".join(f"{number} x {word}" if number > 1 else word for word, number in counted.items()) or "none"
    return f"{value:g}" if isinstance(value, float) else shown(str(value)) or "none"


def _kinds(values: "Sequence[Any]") -> str:
    """Each value once."""
    return in_words(tuple(sorted({in_words(value) for value in values})))


def _gdr(node: Node) -> str:
    """Not applicable without rails."""
    if not rails(node):
        return in_words(())
    ways: Gdr = fabric(node).gdr
    return in_words(need(ways.peermem) == "usable" or need(ways.dmabuf))


def _gid_types(node: Node) -> str:
    """RoCE versions, with the address family where it is not IPv4: NCCL does not connect different families."""
    kinds = set[str]()
    for port in rails(node):
        if isinstance(port.gid, Unread) or isinstance(port.gid.type, Unread):
            kinds.add(in_words(port.gid if isinstance(port.gid, Unread) else port.gid.type))
        else:
            kinds.add(in_words(port.gid.type) + ("" if port.gid.value.startswith(IPV4) else " of IPv6"))
    return ", ".join(sorted(kinds)) or in_words(())


def _netdev_mtu(node: Node) -> str:
    by_name = {nic.name: nic for nic in need(fabric(node).nics)}
    roce = [port.netdev for port in rails(node) if need(port.link_layer) == ETHERNET]
    wanted = [by_name[name] for name in roce if not isinstance(name, Unread) and name in by_name]
    return _kinds([nic.mtu for nic in wanted])


def _shape(node: Node) -> str:
    """GPUs by NUMA node, in order."""
    counts: dict[str, int] = {}
    for gpu in need(node.facts.gpus):
        numa = in_words(gpu.numa_node)
        counts[numa] = counts.get(numa, 0) + 1
    return in_words(tuple(sorted(counts.values())))


def _priorities(node: Node) -> str:
    """The priorities of the cards below the rails, each kind once."""
    from hostagent.domains.nccl.traffic_class import priorities

    found = [priorities(node, port) for port in rails(node)]
    return " and ".join(sorted({in_words(one) if isinstance(one, Unread) else one for one in found})) or in_words(())


def _driver(node: Node) -> str:
    return in_words(need(need(node.facts.driver).loaded).partition(".")[0])


def _mixture(of: Callable[[Gpu], str]) -> Callable[[Node], str]:
    """The common value of all GPUs, or the count of each value."""

    def words(node: Node) -> str:
        counts = Counter(of(gpu) for gpu in need(node.facts.gpus))
        return next(iter(counts), in_words(())) if len(counts) < 2 else ", ".join(f"{counts[one]} x {one}" for one in sorted(counts))

    return words


def _product(gpu: Gpu) -> str:
    return in_words(gpu.name) if isinstance(gpu.name, Unread) else visible(gpu.name)


def _mig(gpu: Gpu) -> str:
    """A GPU without MIG has it off; one that NVML was not asked about, as the profile lets it, has no answer."""
    if isinstance(gpu.mig, Unread):
        is_asked = not isinstance(gpu.compute_capability, Unread)
        return "off" if is_asked and gpu.mig.why in NOT_APPLICABLE else in_words(gpu.mig)
    return "on" if gpu.mig.current else "off"


def _memory(gpu: Gpu) -> str:
    """In GiB, as summaries have it."""
    return in_words(gpu.memory_bytes) if isinstance(gpu.memory_bytes, Unread) else str(round(gpu.memory_bytes / _GIB))


def _plugins(node: Node) -> str:
    return in_words(tuple(sorted({one.file for one in need(need(node.facts.nccl).plugins) if one.is_network})))


#: Properties that must be equal: code, text, and the value of a node.
Row = tuple[str, str, Callable[[Node], str]]
ROWS: tuple[Row, ...] = (
    ("link_layer", "link layer of the rails", lambda node: _kinds([port.link_layer for port in rails(node)])),
    ("rails", "number of rails", lambda node: in_words(len(rails(node)))),
    ("rate", "Gb/s of the rails", lambda node: in_words(tuple(sorted(need(port.rate_gbps) for port in rails(node))))),
    ("active_mtu", "active MTU of the rails", lambda node: _kinds([port.active_mtu for port in rails(node)])),
    ("netdev_mtu", "MTU of the RoCE rails' interfaces", _netdev_mtu),
    ("gid", "type of GID of the rails", _gid_types),
    ("gdr", "GPUDirect RDMA", _gdr),
    ("priorities", "lossless priority, trust and DSCP of the rails", _priorities),
    ("gpus", "number of GPUs", lambda node: in_words(len(need(node.facts.gpus)))),
    ("gpu", "GPU", _mixture(_product)),
    ("memory", "GiB of the GPUs", _mixture(_memory)),
    ("mig", "MIG", _mixture(_mig)),
    ("capability", "compute capability", lambda node: _kinds([gpu.compute_capability for gpu in need(node.facts.gpus)])),
    ("numa", "GPUs by NUMA node", _shape),
    ("driver", "branch of the driver", _driver),
)
#: These too, where the job takes NCCL from the nodes.
PLUGINS: Row = ("plugins", "network plug-ins of NCCL", _plugins)
#: A difference here is a note, not a refusal.
NOTED: tuple[Row, ...] = (
    ("firmware", "firmware of the rails", lambda node: _kinds([port.firmware for port in rails(node)])),
    ("kernel", "kernel", lambda node: in_words(node.host.kernel)),
)


def compared(nodes: Sequence[Node], rows: Sequence[Row]) -> tuple[Refusal, ...]:
    """A refusal for each difference, and for each unread value."""
    found: list[Refusal] = []
    for code, what, of in rows if len(nodes) > 1 else ():
        values, gaps = dict[str, str](), dict[str, Unread]()
        for node in nodes:
            try:
                values[node.name] = of(node)
            except UnreadError as error:
                gaps[node.name] = error.unread
        if gaps:
            first = next(iter(gaps.values()))
            message = f"{what}: not known of {names(tuple(gaps))} ({shown(first.detail) or first.why})"
            found.append(Refusal("unread", message, tuple(gaps)))
        elif refusal := differing(what, code, values):
            found.append(refusal)
    return tuple(found)
