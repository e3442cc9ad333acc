"""The HCAs that a job on these nodes should open, and the variables for them: NCCL_IB_HCA, _NET, _IB_GID_INDEX and _IB_TC."""

from collections.abc import Callable, Mapping, Sequence

from hostagent.core.frozen import frozen
from hostagent.core.unread import NOT_APPLICABLE, Unread, UnreadError, need
from hostagent.domains.nccl.agreement import Refusal, names, rails
from hostagent.domains.nccl.node import Node, Port, Topology, shown
from hostagent.domains.nccl.tables.changes import CUT, Version, max_hcas
from hostagent.domains.nccl.traffic_class import traffic_class
from hostagent.domains.network.tables.rdma_devices import ETHERNET, INFINIBAND, IPV4, ROCE_V2

#: From this version on NCCL chooses the GID itself.
GID_BY_ITSELF: Version = (2, 21, 5)
#: Assumed for an unknown NCCL version: the oldest in the table.
_OLDEST: Version = (2, 18, 1)
_LINK_LOCAL = "fe80:"
_DOWN = "Bring the port up, or see what 'hostagent check' says of it"


@frozen
class Assignment:
    """A variable with its value for all nodes, or by node."""

    name: str
    common: str
    by_node: Mapping[str, str]
    why: str


@frozen
class Transport:
    """The variables for the network between nodes; none if there is a refusal."""

    variables: tuple[Assignment, ...]
    refusals: tuple[Refusal, ...]
    notes: tuple[str, ...]


def choose(nodes: Sequence[Node], version: "Version | None", *, has_plugin: bool) -> Transport:
    """`version`: of the job's NCCL, None if unknown. `has_plugin`: another network than NCCL's own may be loaded."""
    try:
        ports = {node.name: _ordered(node) for node in nodes}
    except UnreadError as error:
        text = f"rails: not known ({shown(error.unread.detail) or error.unread.why})"
        return Transport((), (Refusal("unread", text, tuple(node.name for node in nodes)),), ())
    if not any(ports.values()):
        return Transport((), (), ("no node has a rail: NCCL uses TCP sockets",))
    refusals = tuple(_refusals(ports, version))
    if refusals:
        return Transport((), refusals, ())
    variables, notes = [_hcas(ports)], list[str]()
    if has_plugin:
        notes.append(
            "NCCL_NET is left out: a network plug-in is, or may be, on the nodes; NCCL's log line 'Using network' has the name to set"
        )
    else:
        variables.append(Assignment("NCCL_NET", "IB", {}, "NCCL fails where it would fall back to TCP"))
    more, refused, roce_notes = _roce(nodes, ports, version) if _is_roce(ports) else ((), (), ())
    return Transport((*variables, *more) if not refused else (), refused, (*notes, *roce_notes))


def _ordered(node: Node) -> tuple[Port, ...]:
    """The rails in the order of the GPUs that they are nearest to, those near none last."""
    topology = node.facts.topology
    order: dict[str, int] = {}
    if isinstance(topology, Topology) and not isinstance(topology.rails, Unread):
        for number, rail in enumerate(topology.rails):
            for address in () if isinstance(rail.nics, Unread) else rail.nics:
                order.setdefault(address, number)
    found = rails(node)
    return tuple(sorted(found, key=lambda port: len(order) if isinstance(port.pci, Unread) else order.get(port.pci, len(order))))


def _refusals(ports: Mapping[str, tuple[Port, ...]], version: "Version | None") -> "list[Refusal]":
    most = max_hcas(version or _OLDEST)
    tests: tuple[tuple[str, str, Callable[[Port], bool]], ...] = (
        ("not_active", f"is not ACTIVE. {_DOWN}", lambda port: need(port.state) == "ACTIVE"),
        ("link_layer", "is neither InfiniBand nor RoCE", lambda port: need(port.link_layer) in (INFINIBAND, ETHERNET)),
        ("name", "has a name that no list of NCCL can hold", _is_plain),
        ("gid", "has no RoCE v2 address for its GID", _has_gid),
    )
    found: list[Refusal] = []
    for code, text, holds in tests:
        odd: dict[str, str] = {}
        for node, listed in ports.items():
            for port in listed:
                try:
                    if not holds(port):
                        odd.setdefault(node, port.name)
                except UnreadError as error:
                    return [Refusal("unread", f"{shown(port.name)} of {node}: not known ({shown(error.unread.detail)})", (node,))]
        if odd:
            first, name = next(iter(odd.items()))
            also = f" (so on {names(list(odd))})" if len(odd) > 1 else ""
            found.append(Refusal(code, f"{shown(name)} of {first} {text}{also}", tuple(odd)))
    if many := [node for node, listed in ports.items() if len(listed) > most or len(_value(listed)) > CUT]:
        found.append(Refusal("too_many", f"{names(many)}: more rails than the {most} that this NCCL opens", tuple(many)))
    if not found and len({port.link_layer for listed in ports.values() for port in listed}) > 1:
        found.append(
            Refusal("link_layer", "link layer of the rails: some are InfiniBand, some are RoCE, and they cannot connect", tuple(ports))
        )
    if not found and (lacking := [node for node, listed in ports.items() if not listed]):
        found.append(Refusal("rails", f"number of rails: {names(lacking)} without any", tuple(lacking)))
    return found


def _is_plain(port: Port) -> bool:
    return bool(port.device) and port.device.isprintable() and not set(port.device) & set("^=,: ") and 0 <= port.number < 256


def _is_roce(ports: Mapping[str, tuple[Port, ...]]) -> bool:
    return any(need(port.link_layer) == ETHERNET for listed in ports.values() for port in listed)


def _has_gid(port: Port) -> bool:
    """Raises ``UnreadError``."""
    if need(port.link_layer) != ETHERNET:
        return True
    if isinstance(port.gid, Unread) and port.gid.why in NOT_APPLICABLE:
        return False
    gid = need(port.gid)
    return need(gid.type) == ROCE_V2 and not gid.value.startswith(_LINK_LOCAL)


def _value(ports: tuple[Port, ...]) -> str:
    """Exact names: without ``=`` mlx5_1 takes mlx5_10, too."""
    return f"={','.join(port.name for port in ports)}"


def _hcas(ports: Mapping[str, tuple[Port, ...]]) -> Assignment:
    values = {node: _value(listed) for node, listed in ports.items()}
    if len({frozenset(port.name for port in listed) for listed in ports.values()}) == 1:  # the order in the list is no matter to NCCL
        return Assignment("NCCL_IB_HCA", next(iter(values.values())), {}, "the rails, by their exact names, in the order of the GPUs")
    return Assignment("NCCL_IB_HCA", "", values, "the rails, by their exact names, which differ by node")


def _roce(
    nodes: Sequence[Node], ports: Mapping[str, tuple[Port, ...]], version: "Version | None"
) -> tuple[tuple[Assignment, ...], tuple[Refusal, ...], tuple[str, ...]]:
    variables, refusals, notes = list[Assignment](), list[Refusal](), list[str]()
    if version is None:
        notes.append("NCCL before 2.21 needs NCCL_IB_GID_INDEX: give --nccl VERSION where the job has such a one")
    elif version < GID_BY_ITSELF:
        indexes = {need(port.gid).index for listed in ports.values() for port in listed}
        is_ipv4 = all(need(port.gid).value.startswith(IPV4) for listed in ports.values() for port in listed)
        if len(indexes) == 1 and is_ipv4:
            why = "where every rail has its RoCE v2 address; this NCCL does not look for it"
            variables.append(Assignment("NCCL_IB_GID_INDEX", str(indexes.pop()), {}, why))
        else:
            text = "index of the RoCE v2 address: not the same on all rails, and NCCL before 2.21 takes one index for all"
            refusals.append(Refusal("gid_index", text, tuple(ports)))
    classes = {node.name: {_class(node, port) for port in ports[node.name]} for node in nodes}
    every = set[int | str]().union(*classes.values())
    if len(every) == 1 and isinstance(value := next(iter(every)), int):
        if value:
            variables.append(
                Assignment("NCCL_IB_TC", str(value), {}, f"DSCP {value >> 2}, which leads to the lossless priority on all nodes")
            )
    elif all(isinstance(one, int) for one in every):
        refusals.append(Refusal("traffic_class", f"traffic class of the lossless priority: {_classes_text(classes)}", tuple(classes)))
    else:
        reason = next(one for one in every if isinstance(one, str))
        notes.append(f"NCCL_IB_TC is left out: which traffic class leads to the lossless priority is not known ({shown(reason)})")
    return tuple(variables), tuple(refusals), tuple(notes)


def _class(node: Node, port: Port) -> "int | str":
    found = traffic_class(node, port)
    return found.detail or found.why if isinstance(found, Unread) else found


def _classes_text(classes: Mapping[str, "set[int | str]"]) -> str:
    return names([f"{node} {' and '.join(sorted(map(str, values)))}" for node, values in classes.items()])
