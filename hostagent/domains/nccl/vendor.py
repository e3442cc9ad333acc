"""Whether the nodes have a provider's own network: by the plug-ins of NCCL, the driver of the rails, and the platform."""

from collections.abc import Sequence

from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.nccl.agreement import Refusal, differing, names, rails
from hostagent.domains.nccl.node import Node, Plugin, shown
from hostagent.domains.nccl.tables.vendors import EFA_STACK, GIB, Stack, stack_of
from hostagent.domains.network.tables.rdma_devices import EFA, ETHERNET

_GOOGLE = "GKE node"
_NONE = "no provider's network"


def vendor(nodes: Sequence[Node], *, brings_its_own: bool) -> "tuple[Stack | None, list[Refusal]]":
    """`brings_its_own`: the job's image has NCCL and its plug-ins."""
    found = {node.name: _of(node) for node in nodes}
    refusal = differing("provider's network", "provider", {name: one.name if one else _NONE for name, one in found.items()})
    stack = next(iter(found.values()), None)
    if refusal:
        return None, [refusal]
    return stack, [] if brings_its_own else _without_plugin(nodes, stack)


def _without_plugin(nodes: Sequence[Node], stack: "Stack | None") -> list[Refusal]:
    """For NCCL from the nodes: an unread plug-in may be a provider's, and may be loaded."""
    lacking, gaps = list[str](), dict[str, Unread]()
    for node in nodes:
        try:
            if _lacks(node) and stack is EFA_STACK:
                lacking.append(node.name)
        except UnreadError as error:
            gaps[node.name] = error.unread
    if gaps:
        first = next(iter(gaps.values()))
        text = f"plug-ins of NCCL: not known of {names(tuple(gaps))} ({shown(first.detail) or first.why})"
        return [Refusal("unread", text, tuple(gaps))]
    if lacking:
        text = f"EFA: {names(lacking)} with NCCL, but without the plug-in aws-ofi-nccl: NCCL would use TCP sockets"
        return [Refusal("plugin", text, tuple(lacking))]
    return []


def _of(node: Node) -> "Stack | None":
    for one in _plugins(node):
        if one.is_network and (stack := stack_of(one.path)):
            return stack
    try:
        ports = rails(node)
        if ports and all(need(port.driver) == EFA for port in ports):
            return EFA_STACK
        platform = need(node.facts.platform)
        is_google = not isinstance(platform.name, Unread) and platform.name == _GOOGLE
        return GIB if is_google and any(need(port.link_layer) == ETHERNET for port in ports) else None
    except UnreadError:  # what is not known of rails is refused elsewhere
        return None


def _plugins(node: Node) -> tuple[Plugin, ...]:
    nccl = node.facts.nccl
    return () if isinstance(nccl, Unread) or isinstance(nccl.plugins, Unread) else nccl.plugins


def _lacks(node: Node) -> bool:
    """NCCL is there and EFA's plug-in is not, or cannot be loaded. Without NCCL the job's image brings both. Raises ``UnreadError``."""
    nccl = need(node.facts.nccl)
    if not isinstance(nccl.libraries, Unread) and not nccl.libraries:
        return False
    ours = [one.missing for one in need(nccl.plugins) if stack_of(one.path) is EFA_STACK]
    return not any(not isinstance(one, Unread) and not one for one in ours) and all(map(need, ours))
