"""Whether the nodes have a provider's own network: by the plug-ins of NCCL, the driver of the rails, and the platform."""

from collections.abc import Sequence

from hostagent.facts.unread import Unread, UnreadError, need
from hostagent.knowledge.ncclvendors import EFA_STACK, GIB, Stack, stack_of
from hostagent.knowledge.rdma import EFA, ETHERNET
from hostagent.nccl.agreement import Refusal, differing, names, rails
from hostagent.nccl.node import Node, Plugin

_GOOGLE = "GKE node"
_NONE = "no provider's network"


def vendor(nodes: Sequence[Node], *, brings_its_own: bool) -> "tuple[Stack | None, list[Refusal]]":
    """`brings_its_own`: the job's image has NCCL and its plug-ins."""
    found = {node.name: _of(node) for node in nodes}
    refusal = differing("provider's network", "provider", {name: one.name if one else _NONE for name, one in found.items()})
    stack = next(iter(found.values()), None)
    if refusal:
        return None, [refusal]
    lacking = [node.name for node in nodes if stack is EFA_STACK and not brings_its_own and _lacks(node)]
    if lacking:
        text = f"EFA: {names(lacking)} with NCCL, but without the plug-in aws-ofi-nccl: NCCL would use TCP sockets"
        return stack, [Refusal("plugin", text, tuple(lacking))]
    return stack, []


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
    """NCCL is there and its plug-in is not, or cannot be loaded. Without NCCL the job's image brings both."""
    nccl = node.facts.nccl
    if isinstance(nccl, Unread) or isinstance(nccl.libraries, Unread) or not nccl.libraries:
        return False
    usable = [one for one in _plugins(node) if stack_of(one.path) is EFA_STACK and (isinstance(one.missing, Unread) or not one.missing)]
    return not usable
