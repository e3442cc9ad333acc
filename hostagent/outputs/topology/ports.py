"""The ports of NICs as texts (role, state, rate), and the one answer on the MTU."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hostagent.domains.network.tables.rdma_devices import ETHERNET, INFINIBAND
from hostagent.outputs.digest import short
from hostagent.outputs.topology import parts
from hostagent.outputs.topology.document import Document
from hostagent.outputs.topology.parts import UNREAD, rows, text_of, why

#: Characters of the MTU answer.
_ANSWER = 200


class Port(NamedTuple):
    """A port of an RDMA device, or an interface of a NIC without one; "" for values that it does not have."""

    name: str  # mlx5_0:1; else the interface
    pci: str
    netdev: str
    role: str
    state: str  # with the physical state where that is not LinkUp
    rate: str
    link_layer: str
    mtu: str  # of its interface
    active: str
    derived: bool  # the active MTU is no answer of the port, but made of its interface's
    gid: str
    firmware: str


def ports(document: Document) -> tuple[Port, ...]:
    """Ports of the shown NICs, those without a NIC, and every rail, these first; JSON has all."""
    shown = {one.pci for one in parts.nics(document)}
    netdevs = rows(_part(document, "nics"))
    of_rdma = rows(_part(document, "rdma"))
    taken = {text_of(one.get("pci")) for one in of_rdma}
    wanted = [one for one in of_rdma if one.get("role") == "rail" or text_of(one.get("pci")) in {*shown, ""}]
    wanted.sort(key=lambda one: one.get("role") != "rail")
    plain = [one for one in netdevs if text_of(one.get("pci")) in shown - taken]
    mtus = {text_of(one.get("name")): _value(one, "mtu") for one in netdevs}
    return (*(_rdma(one, mtus) for one in wanted), *map(_plain, plain))[: parts.MOST]


def others(document: Document) -> int:
    """RDMA ports that `ports` leaves out, mostly of virtual functions."""
    return len(rows(_part(document, "rdma"))) - sum(bool(one.role) for one in ports(document))


def active(one: Port) -> str:
    """The active MTU, and whether it is derived."""
    return f"{one.active}{' (derived)' if one.derived else ''}" if one.active else ""


def of_nic(found: Iterable[Port], pci: str) -> tuple[Port, ...]:
    return tuple(one for one in found if one.pci == pci)


def nic_of(document: Document) -> Mapping[str, str]:
    """The address of the NIC by the name of a port, to place findings about the port."""
    return {_name(one): text_of(one.get("pci")) for one in rows(_part(document, "rdma"))}


def mtu_answer(document: Document) -> tuple[str, str]:
    """One line, and the verdict for its colour ("" for none)."""
    mtu = _part(document, "mtu")
    if not isinstance(mtu, dict) or "unread" in mtu:
        return f"MTU not known: {why(mtu) or 'it was not read'}", "unknown"
    agree = mtu.get("agree")
    text = short(str(mtu.get("text", "")), _ANSWER) or "MTU not known"
    if isinstance(agree, bool):
        return text, "ready" if agree else "not_ready"
    return text, "unknown" if _why(agree) not in ("absent", "not-supported") else ""


def _part(document: Document, name: str) -> Any:
    fabric = document.fabric
    return (fabric if "unread" in fabric else fabric.get(name)) if isinstance(fabric, dict) else None


def _why(value: Any) -> str:
    return str(value["unread"]) if isinstance(value, dict) and "unread" in value else ""


def _value(row: Mapping[str, Any], name: str) -> str:
    """Empty for a value that the port does not have, ``?`` for an unread one."""
    value = row.get(name)
    return "" if value == "" or _why(value) in ("absent", "not-supported") else text_of(value)


def _name(row: Mapping[str, Any]) -> str:
    name, number = text_of(row.get("name")), text_of(row.get("port"))
    return name if ":" in name or number == UNREAD else f"{name}:{number}"


def _rdma(row: Mapping[str, Any], mtus: Mapping[str, str]) -> Port:
    netdev = _value(row, "netdev")
    gid = row.get("gid")
    return Port(
        name=_name(row),
        pci=text_of(row.get("pci")),
        netdev=netdev,
        role=text_of(row.get("role")),
        state=_state(row),
        rate=_gbps(row.get("rate_gbps"), 1),
        link_layer=_link_layer(row),
        mtu=mtus.get(netdev, UNREAD) if netdev else "",
        active=_value(row, "active_mtu"),
        derived=row.get("active_mtu_from") == "derived",
        gid=f"{_value(gid, 'value')} {_value(gid, 'type')}" if isinstance(gid, dict) and "unread" not in gid else _value(row, "gid"),
        firmware=_value(row, "firmware"),
    )


def _link_layer(row: Mapping[str, Any]) -> str:
    """The link layer; the driver's name for a port that is neither InfiniBand nor Ethernet, such as efa."""
    layer = _value(row, "link_layer")
    return layer if layer in (INFINIBAND, ETHERNET, UNREAD) else _value(row, "driver")


def _plain(row: Mapping[str, Any]) -> Port:
    name = text_of(row.get("name"))
    state, rate = _value(row, "state"), _gbps(row.get("speed_mbps"), 1000)
    return Port(name, text_of(row.get("pci")), "", "", state, rate, "", _value(row, "mtu"), "", False, "", "")


def _state(row: Mapping[str, Any]) -> str:
    state, physical = _value(row, "state"), _value(row, "physical_state")
    return state if physical in ("LinkUp", "", UNREAD) else f"{state} ({physical})"


def _gbps(value: Any, per: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value == "" or _why(value) in ("absent", "not-supported") else UNREAD
    return f"{value / per:g} Gb/s"
