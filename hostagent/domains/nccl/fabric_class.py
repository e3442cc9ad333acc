"""The properties that must be equal on all nodes of one job, and two hashes of them.

The fabric class is for a job that brings its own NCCL, the host class for one that uses the host's: nodes with the same class may run one
job together. A class begins with the version of its list of inputs, so that a release that compares more has other classes.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from hostagent.core.escape import visible
from hostagent.core.hashes import hexdigest
from hostagent.core.unread import NOT_APPLICABLE, Unread, UnreadError, need
from hostagent.domains.nccl import bootstrap
from hostagent.domains.nccl.agreement import PLUGINS, ROWS, in_words, rails
from hostagent.domains.nccl.class_inputs import CLASS_INPUTS, HOST_INPUTS, VERSION
from hostagent.domains.nccl.node import Node
from hostagent.domains.nccl.preconditions import compared_settings
from hostagent.domains.nccl.traffic_class import priorities, traffic_class

_DIGITS = 12
#: Why a node has no such input. Not known of an image.
_NONE = NOT_APPLICABLE - {"not-running"}
_ROW = {code: of for code, _, of in (*ROWS, PLUGINS)}


def _traffic_class(node: Node) -> str:
    """The class of a job's packets, with what the cards make of it; each kind once."""
    kinds = set[str]()
    for port in rails(node):
        value, words = traffic_class(node, port), priorities(node, port)
        kinds.add(in_words(value) if isinstance(value, Unread) or isinstance(words, Unread) else f"{value} ({words})")
    return ", ".join(sorted(kinds)) or in_words(())


def _hca_names(node: Node) -> str:
    return ", ".join(port.name for port in rails(node)) or in_words(())


def _version(node: Node) -> str:
    """The version of the NCCL that jobs find first on the node."""
    found = need(need(node.facts.nccl).libraries)
    return in_words(found[0].version) if found else in_words(())


def _socket_ifname(node: Node) -> str:
    """The value of NCCL_SOCKET_IFNAME; "none" where the node has no interface for it."""
    bootstrap.candidates(node)
    return bootstrap.choose([node]).common or in_words(())


def _settings(node: Node) -> str:
    return ", ".join(f"{name}={_escaped(value)}" for name, value in compared_settings(node)) or in_words(())


def _escaped(value: str) -> str:
    r"""A value that is not taken for the next setting.

    >>> _escaped("Ring, NCCL_PROTO=Simple"), _escaped("mlx5_0,mlx5_1")
    ('Ring\\x2c NCCL_PROTO=Simple', 'mlx5_0,mlx5_1')
    """
    return visible(value.replace("\\", "\\\\").replace(", ", "\\x2c "))


#: Each input by its name, as text of a node, as `hostagent.domains.nccl.agreement` compares nodes. Raises ``UnreadError``.
_INPUTS: Mapping[str, Callable[[Node], str]] = {
    "gpu_product": _ROW["gpu"],
    "gpu_memory": _ROW["memory"],
    "gpu_count": _ROW["gpus"],
    "gpus_per_numa": _ROW["numa"],
    "mig": _ROW["mig"],
    "driver_branch": _ROW["driver"],
    "link_layer": _ROW["link_layer"],
    "hcas": _ROW["rails"],
    "rate_gbps": _ROW["rate"],
    "mtu": _ROW["netdev_mtu"],
    "active_mtu": _ROW["active_mtu"],
    "gid_type": _ROW["gid"],
    "gdr": _ROW["gdr"],
    "traffic_class": _traffic_class,
    "hca_names": _hca_names,
    "nccl": _version,
    "net_plugin": _ROW["plugins"],
    "socket_ifname": _socket_ifname,
    "settings": _settings,
}


def inputs(node: Node, names: Iterable[str] = (*CLASS_INPUTS, *HOST_INPUTS)) -> dict[str, "str | Unread"]:
    """The inputs by name: "none" where one does not apply to the node, unread with its reason; not-running for all of them in an image,
    because its host does not run yet.
    """
    return {name: _read(_INPUTS[name], node) for name in names}


def _read(of: Callable[[Node], str], node: Node) -> "str | Unread":
    try:
        return of(node)
    except UnreadError as error:
        gap = error.unread
        if gap.why not in _NONE:
            return gap
        if any(gap is one for one in _never_none(node)):
            return Unread("error", gap.detail or gap.why, gap.question)
        return in_words(())


def _never_none(node: Node) -> Iterator[object]:
    """Every node has these lists, even if empty, and a role of each port: an absent one was not read completely."""
    yield node.facts.gpus
    if not isinstance(node.facts.fabric, Unread):
        yield from (node.facts.fabric.nics, node.facts.fabric.rdma)
        yield from () if isinstance(node.facts.fabric.rdma, Unread) else (port.role for port in node.facts.fabric.rdma)


def fabric_class(found: Mapping[str, "str | Unread"]) -> "str | Unread":
    """The class of a job that brings its own NCCL. `found`: at least its inputs."""
    return _hashed(found, CLASS_INPUTS)


def host_class(found: Mapping[str, "str | Unread"]) -> "str | Unread":
    """The class of a job that uses the host's NCCL."""
    return _hashed(found, (*CLASS_INPUTS, *HOST_INPUTS))


def _hashed(found: Mapping[str, "str | Unread"], names: Iterable[str]) -> "str | Unread":
    """The version, and 12 hexadecimal digits of the SHA-256 of the inputs, as JSON with sorted keys and no blanks; unread where one is."""
    values = dict[str, str]()
    for name in names:
        value = found[name]
        if isinstance(value, Unread):
            return Unread(value.why, f"{name}: {value.detail}", value.question)
        values[name] = value
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return f"{VERSION}-{hexdigest('sha256', text.encode())[:_DIGITS]}"
