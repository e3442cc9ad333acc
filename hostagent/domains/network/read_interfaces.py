"""Network interfaces from sysfs: the kind and the attributes of each (Linux kernel, ABI/testing/sysfs-class-net)."""

import errno
import os
import re
from typing import Any

from hostagent.core.unread import Unread, then
from hostagent.host.attributes import Attributes, json_value
from hostagent.host.files import unread
from hostagent.host.paths import Root

CLASS = "/sys/class/net"
#: No name, in a row: not valid as the name of an interface.
NONE = "/"
#: Sysctls that decide which interface answers ARP for an address (Linux kernel, networking/ip-sysctl).
SYSCTLS = ("arp_ignore", "arp_announce", "arp_filter", "rp_filter")
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)
#: Numbers of a kind of hardware (linux/if_arp.h): InfiniBand, loopback; tunnels: of IP in IP, SIT, GRE and of no link layer.
_INFINIBAND, _LOOPBACK = "32", "772"
_TUNNELS = frozenset({"768", "769", "776", "778", "823", "65534"})
#: By DEVTYPE of uevent, of what is no card.
_KINDS = {
    "bond": "bond", "bridge": "bridge", "vlan": "vlan", "macvlan": "macvlan", "ipvlan": "ipvlan",
    "vxlan": "tunnel", "geneve": "tunnel", "gre": "tunnel", "wireguard": "tunnel", "ppp": "tunnel",
}  # fmt: skip
#: By the kernel's name of a kind, IFLA_INFO_KIND, see `hostagent.domains.network.read_netlink`.
BY_WORD = {
    "bond": "bond", "bridge": "bridge", "vlan": "vlan", "macvlan": "macvlan", "macvtap": "macvlan", "ipvlan": "ipvlan", "ipvtap": "ipvlan",
    "veth": "veth", "netkit": "veth", "dummy": "dummy", "ipoib": "ipoib", "tun": "tunnel", "vxlan": "tunnel", "geneve": "tunnel",
    "gre": "tunnel", "gretap": "tunnel", "ip6gre": "tunnel", "ip6gretap": "tunnel", "ipip": "tunnel", "sit": "tunnel", "ip6tnl": "tunnel",
    "vti": "tunnel", "vti6": "tunnel", "xfrm": "tunnel", "wireguard": "tunnel", "erspan": "tunnel", "ip6erspan": "tunnel", "ppp": "tunnel",
}  # fmt: skip
_MARKS = {"bonding": "bond", "bridge": "bridge", "tun_flags": "tunnel"}
#: No useful VLAN, macvlan or bond has more lower interfaces.
_MOST_LOWER = 64
_DOWN = Unread("not-supported", "the link is down, or has no speed")
_HAS_NONE = Unread("not-supported", "an interface of this kind has no speed")


class Interface:
    """One interface while it is read; nothing here asks a card or takes a lock. Raises ``OSError`` and ``ValueError`` where it is not
    there any more.
    """

    def __init__(self, root: Root, name: str) -> None:
        self.name = name
        self._root = root
        with Attributes(root, f"{CLASS}/{name}") as found:
            self.has = found.names()
            self.lower = sorted(one.removeprefix("lower_") for one in self.has if one.startswith("lower_"))
            self.pci = _function(root, name)
            self.devtype = then(found.word("uevent", absent=""), parse_devtype)
            self.values = {key: found.word(key) for key in ("ifindex", "iflink", "mtu", "operstate", "flags", "type")}
            self.master = _last(found.link("master", absent=""))
            self.parent = found.word("parent", absent="") if "parent" in self.has else ""
            self._address = found.word("address", absent="") if len(self.lower) == 1 else ""
        self.bonding = _bonding(root, name) if "bonding" in self.has else ""

    @property
    def is_card(self) -> bool:
        return self.pci != "" if isinstance(self.pci, str) else True

    @property
    def kind(self) -> str:
        """As far as sysfs says: it has no mark of a dummy, nor of many others."""
        known = self.values["type"]
        hardware = known if isinstance(known, str) else ""
        if hardware == _LOOPBACK:
            return "loopback"
        if hardware == _INFINIBAND:
            return "ipoib"
        if self.is_card or "device" in self.has:
            return "physical"
        for mark, kind in _MARKS.items():
            if mark in self.has:
                return kind
        if isinstance(self.devtype, str) and self.devtype in _KINDS:
            return _KINDS[self.devtype]
        return "tunnel" if hardware in _TUNNELS else self._linked()

    def _linked(self) -> str:
        """The kind of an interface on top of another: its lower one or its other end may be in another namespace."""
        link, own = self.values["iflink"], self.values["ifindex"]
        if isinstance(link, Unread) or isinstance(own, Unread) or link in (own, "0"):
            return "other"
        if len(self.lower) != 1:
            return "veth"
        try:
            with Attributes(self._root, f"{CLASS}/{self.lower[0]}") as lower:
                address = lower.word("address", absent="")
        except (OSError, ValueError):
            return "macvlan"
        same = isinstance(address, str) and isinstance(self._address, str) and address == self._address
        return "ipvlan" if same else "macvlan"

    @property
    def row(self) -> str:
        """All in one line, for a software interface that no check needs in detail; else ""."""
        if self.is_card or "device" in self.has or "bonding" in self.has or self.parent != "" or (self.lower and self.kind != "bridge"):
            return ""
        kept = [self.values[key] for key in ("iflink", "mtu", "operstate", "flags")]
        words = [
            self.name,
            self.values["ifindex"],
            self.kind,
            *kept,
            self.master if isinstance(self.master, Unread) else self.master or NONE,
        ]
        plain = [word for word in words if isinstance(word, str) and len(word.split()) == 1]
        return " ".join(plain) if len(plain) == len(words) else ""

    def plain(self, settings: "dict[str, Any]") -> "dict[str, Any]":
        """The answer to ``device NAME``. `settings`: the interface's own `SYSCTLS`."""
        return {
            **{key: json_value(value) for key, value in self.values.items()},
            "kind": self.kind,
            "pci": json_value(self.pci),
            "devtype": json_value(self.devtype),
            "master": json_value(self.master),
            "lower": self.lower[:_MOST_LOWER],
            "parent": json_value(self.parent),
            "bonding": self.bonding,
            "sysctls": settings,
        }


def parse_devtype(uevent: str) -> str:
    r"""DEVTYPE of a uevent file; "" where the driver gives none.

    >>> parse_devtype("DEVTYPE=vlan\nINTERFACE=bond0.100\nIFINDEX=9"), parse_devtype("INTERFACE=eth0\nIFINDEX=2")
    ('vlan', '')
    """
    return next((line.removeprefix("DEVTYPE=") for line in uevent.splitlines() if line.startswith("DEVTYPE=")), "")


def speed(root: Root, name: str) -> "str | Unread":
    """Mb/s; queries the card's firmware."""
    try:
        with Attributes(root, f"{CLASS}/{name}") as found:
            return found.word("speed", invalid=_DOWN)
    except (OSError, ValueError) as error:
        return unread(error, f"{CLASS}/{name}")


def has_speed(found: Interface) -> "Unread | None":
    """Why the speed is not read, or None: a link that is down has none, and reading it takes the rtnl lock of all interfaces."""
    if found.kind not in ("physical", "bond", "ipoib"):
        return _HAS_NONE
    return _DOWN if found.values["operstate"] != "up" else None


def sysctls(root: Root, name: str) -> "dict[str, Any]":
    """`SYSCTLS` of an interface, or of ``all``; one dot of a name is no part of a path there."""
    try:
        with Attributes(root, f"/proc/sys/net/ipv4/conf/{name}") as found:
            return {key: json_value(found.word(key)) for key in SYSCTLS}
    except (OSError, ValueError) as error:
        return dict.fromkeys(SYSCTLS, json_value(unread(error, f"/proc/sys/net/ipv4/conf/{name}")))


def _function(root: Root, name: str) -> "str | Unread":
    """The nearest PCI function above it, "" for none: a link in the class says the whole way. A made tree may have a directory there."""
    try:
        place = root.open(CLASS, os.O_PATH | os.O_DIRECTORY)
        try:
            way = os.readlink(name, dir_fd=place)
        finally:
            os.close(place)
    except OSError as error:
        if error.errno != errno.EINVAL:
            return unread(error, f"{CLASS}/{name}")
        way = ""
    return next((part for part in reversed(way.split("/")) if _ADDRESS.fullmatch(part)), "")


def _last(link: "str | Unread") -> "str | Unread":
    return link if isinstance(link, Unread) else link.rstrip("/").rpartition("/")[2]


def _bonding(root: Root, name: str) -> "dict[str, Any]":
    with Attributes(root, f"{CLASS}/{name}/bonding") as found:
        return {key: json_value(found.word(key, absent="")) for key in ("mode", "xmit_hash_policy")}


def has_vendors(found: Interface) -> bool:
    """Whether the vendor's own driver shows priorities here."""
    return bool(found.has & {"ecn", "qos"})


def vendors(root: Root, name: str) -> "dict[str, Any]":
    """The driver's ``trust`` ("" for none) and ``ecn``, 0 or 1 by half of RoCE and priority. Queries the card's firmware."""
    return {
        "trust": _values(root, f"{CLASS}/{name}/qos", {"trust"}).get("trust", ""),
        "ecn": {half: _values(root, f"{CLASS}/{name}/ecn/{half}/enable", set("01234567")) for half in ("roce_np", "roce_rp")},
    }


def _values(root: Root, path: str, wanted: "set[str]") -> "dict[str, Any]":
    try:
        with Attributes(root, path) as found:
            return {name: json_value(found.word(name)) for name in sorted(found.names() & wanted)}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        return dict.fromkeys(sorted(wanted), json_value(unread(error, path)))
