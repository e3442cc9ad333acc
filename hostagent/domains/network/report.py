"""``fabric``: interfaces, RDMA ports with what a job gets of each, GPUDirect, and the MTU."""

# Without loopback and veth: a Kubernetes node has hundreds, with their other ends in pods. The text of `mtu` is the last line of
# `hostagent topology`, unwrapped, so that `tail -n 1` has it.

from collections.abc import Mapping
from typing import Any, get_args

from hostagent.core.typed import plain
from hostagent.core.unread import Unread, then
from hostagent.domains.network.devices import Devices, Roles, devices_by_netdev, roles_by_port, shown_netdevs, sorted_ports
from hostagent.domains.network.gids import chosen
from hostagent.domains.network.gpudirect import gdr
from hostagent.domains.network.mtu import ActiveMtu, active_mtu, agreement
from hostagent.domains.network.roles import Role
from hostagent.domains.report_json import each, fields_schema, list_schema, object_schema, or_unread, picked
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kernel import Kernel
from hostagent.facts.network import Netdev, Network, Priorities
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import Gid, Rdma, RdmaPort
from hostagent.facts.topology import Nic, Topology

_NETDEV = ("name", "pci", "kind", "mtu", "state", "speed_mbps", "master", "parent")
_PRIORITIES = ("lossless", "trust", "dscp", "firmware_dcbx")
_PORT = ("pci", "netdev", "link_layer", "state", "physical_state", "rate_gbps")
_CARD = ("firmware", "board_id", "driver")
_GID = ("index", "value", "type")
_TEXT, _NUMBER, _FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_TEXTS = {"type": "array", "items": _TEXT}


def write(facts: HostFacts, hcas: str = "") -> Any:
    """`hcas` is the profile's: which ports jobs use."""
    ports, network, platform = facts.of(RdmaPort), facts.of(Network), facts.of(Platform)
    found = roles_by_port(Devices(ports, facts.of(Nic), facts.of(Gpu)), facts.of(Topology), platform, hcas)
    devices = then(ports, devices_by_netdev)
    shown = then(network, lambda known: then(known.netdevs, lambda listed: shown_netdevs(listed, platform)))
    ways = gdr(facts.of(Kernel), facts.of(Driver), facts.of(Rdma))
    return {
        "nics": each(shown, lambda one: _netdev(one, devices)),
        "rdma": each(then(ports, sorted_ports), lambda port: _port(port, found, network)),
        "gdr": {"peermem": plain(ways.peermem), "dmabuf": plain(ways.dmabuf)},
        "mtu": _mtu(ports, found, network),
        "port_range": plain(then(network, lambda known: known.port_range)),
    }


def _netdev(one: Netdev, devices: "Mapping[str, tuple[str, ...]] | Unread") -> dict[str, Any]:
    addresses = then(one.addresses, lambda listed: tuple(f"{address.value}/{address.prefix}" for address in listed))
    return {
        **picked(one, _NETDEV),
        "addresses": plain(addresses),
        "rdma": plain(then(devices, lambda known: known.get(one.name, ()))),
        "priorities": plain(then(one.priorities, lambda priorities: picked(priorities, _PRIORITIES))),
    }


def _port(port: RdmaPort, found: "Roles | Unread", network: "Network | Unread") -> dict[str, Any]:
    active, gid = active_mtu(port, network), chosen(port)
    pkeys = then(port.pkeys, lambda listed: [{"index": one.index, "value": f"0x{one.value:04x}"} for one in listed])
    return {
        "name": port.device,
        "port": port.number,
        **picked(port, _PORT),
        "role": plain(then(found, lambda known: known[port.name])),
        "active_mtu": plain(active.value),
        "active_mtu_from": active.origin,
        "sm_lid": plain(port.sm_lid),
        "pkeys": plain(pkeys),
        "gid": plain(gid) if isinstance(gid, Unread) else picked(gid, _GID),
        **picked(port, _CARD),
    }


def _mtu(ports: "tuple[RdmaPort, ...] | Unread", found: "Roles | Unread", network: "Network | Unread") -> Any:
    """Unread as a whole where it is not known which ports are rails."""
    if isinstance(ports, Unread) or isinstance(found, Unread):
        return plain(ports if isinstance(ports, Unread) else found)
    gap = next((role for role in found.values() if isinstance(role, Unread)), None)
    if gap is not None:
        return plain(gap)
    answer = agreement(tuple(port for port in sorted_ports(ports) if found[port.name] == "rail"), network)
    return {name: plain(value) for name, value in answer._asdict().items()}


def schema() -> dict[str, Any]:
    netdev, priorities = fields_schema(Netdev, _NETDEV), object_schema(fields_schema(Priorities, _PRIORITIES))
    pkey = object_schema({"index": _NUMBER, "value": _TEXT})
    port = {
        "name": _TEXT,
        "port": _NUMBER,
        **fields_schema(RdmaPort, _PORT),
        "role": or_unread({"enum": list(get_args(Role))}),
        "active_mtu": or_unread(_NUMBER),
        "active_mtu_from": {"enum": list(get_args(ActiveMtu.__annotations__["origin"]))},
        "sm_lid": or_unread(_NUMBER),
        "pkeys": list_schema(pkey),
        "gid": or_unread(object_schema(fields_schema(Gid, _GID))),
        **fields_schema(RdmaPort, _CARD),
    }
    mtu = {"agree": or_unread(_FLAG), "netdev": or_unread(_NUMBER), "active": or_unread(_NUMBER), "odd": _TEXTS, "text": _TEXT}
    parts = {
        "nics": list_schema(
            object_schema({**netdev, "addresses": or_unread(_TEXTS), "rdma": or_unread(_TEXTS), "priorities": or_unread(priorities)})
        ),
        "rdma": list_schema(object_schema(port)),
        "gdr": object_schema({"peermem": or_unread(_TEXT), "dmabuf": or_unread(_FLAG)}),
        "mtu": or_unread(object_schema(mtu)),
        "port_range": or_unread({"type": "array", "items": _NUMBER}),
    }
    return or_unread(object_schema(parts, later=("port_range",)))
