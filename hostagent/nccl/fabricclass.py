"""What has to be equal on all nodes of one job, and one short word for it: nodes with the same word take the same settings of NCCL."""

import json
from collections.abc import Callable, Mapping

from hostagent.facts.unread import NOT_APPLICABLE, Unread, UnreadError, need
from hostagent.hashes import hexdigest
from hostagent.nccl import bootstrap
from hostagent.nccl.agreement import PLUGINS, ROWS, in_words, rails
from hostagent.nccl.node import Node
from hostagent.nccl.trafficclass import traffic_class

_DIGITS = 12
#: Why a node has none of it. Of an image that is not known.
_NONE = NOT_APPLICABLE - {"not-running"}
_ROW = {code: of for code, _, of in (*ROWS, PLUGINS)}


def _version(node: Node) -> str:
    """Of the NCCL that jobs find first on the node."""
    found = need(need(node.facts.nccl).libraries)
    return in_words(found[0].version) if found else in_words(())


def _hcas(node: Node) -> str:
    return ",".join(port.name for port in rails(node)) or in_words(())


def _traffic_class(node: Node) -> str:
    return in_words(tuple(sorted({in_words(traffic_class(node, port)) for port in rails(node)})))


def _socket_ifname(node: Node) -> str:
    """The value of NCCL_SOCKET_IFNAME; "none" where the node has no interface for it."""
    bootstrap.candidates(node)
    return bootstrap.choose([node]).common or in_words(())


#: By name, what it is of a node: in words, as `hostagent.nccl.agreement` compares nodes. Raises ``UnreadError``.
INPUTS: Mapping[str, Callable[[Node], str]] = {
    "gpu_product": _ROW["gpu"],
    "gpu_count": _ROW["gpus"],
    "gpus_per_numa": _ROW["numa"],
    "driver_branch": _ROW["driver"],
    "nccl": _version,
    "net_plugin": _ROW["plugins"],
    "link_layer": _ROW["link_layer"],
    "hcas": _hcas,
    "rate_gbps": _ROW["rate"],
    "mtu": _ROW["netdev_mtu"],
    "active_mtu": _ROW["active_mtu"],
    "gid_type": _ROW["gid"],
    "gdr": _ROW["gdr"],
    "traffic_class": _traffic_class,
    "socket_ifname": _socket_ifname,
}


def inputs(node: Node) -> dict[str, "str | Unread"]:
    """Each by name. What does not apply to the node is "none"; what could not be read says why. Nobody can know them of an image, whose
    host does not run yet: they are not-running.
    """
    return {name: _read(of, node) for name, of in INPUTS.items()}


def _read(of: Callable[[Node], str], node: Node) -> "str | Unread":
    try:
        return of(node)
    except UnreadError as error:
        return in_words(()) if error.unread.why in _NONE else error.unread


def fabric_class(found: Mapping[str, "str | Unread"]) -> "str | Unread":
    """12 hexadecimal digits of the SHA-256 of the inputs, as JSON with sorted keys and no blanks; none where one was not read."""
    for name, value in found.items():
        if isinstance(value, Unread):
            return Unread(value.why, f"{name}: {value.detail}", value.question)
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    return hexdigest("sha256", text.encode())[:_DIGITS]
