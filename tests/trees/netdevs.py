"""Network interfaces of a host as the kernel shows them: sysfs, /proc/sys/net, and /proc/1/net with addresses, routes and listeners.

Formats: Linux kernel, ABI/testing/sysfs-class-net, networking/bonding, networking/ip-sysctl; net/ipv4/fib_trie.c, net/ipv6/addrconf.c.
What a kernel answers with an error (`speed` of an interface that is down: EINVAL) is a file that is missing here.
"""

import ipaddress
import struct
from dataclasses import dataclass

from tests.trees.tree import Tree

_NET, _VIRTUAL = "/sys/class/net", "/sys/devices/virtual/net"
ETHER, INFINIBAND, LOOPBACK = 1, 32, 772  # ARPHRD_*
_UP, _BROADCAST, _LOOPBACK, _MASTER, _SLAVE, _MULTICAST = 0x1, 0x2, 0x8, 0x400, 0x800, 0x1000
_ROUTE_HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
_DEV_HEAD = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
)
_TCP_HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"


@dataclass(frozen=True)
class Netdev:
    """One interface. `speed` -1 is what drivers say without a carrier, None what has none; `kind` is DEVTYPE, "" of most."""

    name: str
    mtu: int = 1500
    state: str = "up"
    addresses: tuple[str, ...] = ()  # 10.0.1.5/24
    mac: str = ""
    type: int = ETHER
    speed: "int | None" = None
    kind: str = ""
    master: str = ""
    lower: tuple[str, ...] = ()  # below a bond, bridge, VLAN, macvlan
    dev_port: int = 0
    link: int = 0  # iflink where it is not its own index: its parent's, its peer's


def add(tree: Tree, one: Netdev, directory: str = "", *, device: str = "") -> None:
    """An interface; `directory` is the PCI function's or virtio device's, "" of one made of software; `device` is what `device` links to."""
    home = f"{directory}/net/{one.name}" if directory else f"{_VIRTUAL}/{one.name}"
    number = index(tree, one.name) or 1 + max([0, *map(int, _read_all(tree, "ifindex"))])
    mac = one.mac or ("00:00:00:00:00:00" if one.type == LOOPBACK else f"02:00:5e:00:01:{number & 255:02x}")
    flags = _UP if one.state != "down" or one.speed == -1 else 0
    flags |= _LOOPBACK if one.type == LOOPBACK else _BROADCAST | _MULTICAST
    flags |= (_MASTER if one.kind == "bond" else 0) | (_SLAVE if one.master and _is_bond(tree, one.master) else 0)
    files = {
        "address": mac, "addr_len": str(len(mac.split(":"))), "addr_assign_type": "0", "broadcast": ":".join(["ff"] * len(mac.split(":"))),
        "dev_id": "0x0", "dev_port": str(one.dev_port), "flags": f"0x{flags:x}", "ifindex": str(number), "iflink": str(one.link or number),
        "ifalias": "", "link_mode": "0", "mtu": str(one.mtu), "name_assign_type": "4" if directory else "3", "operstate": one.state,
        "tx_queue_len": "1000", "type": str(one.type),
    }  # fmt: skip
    if flags & _UP:  # both are EINVAL while it is down
        files["carrier"] = str(int(one.state in ("up", "unknown")))
    if flags & _UP and one.speed is not None:
        files |= {"speed": str(one.speed), "duplex": "full" if one.speed > 0 else "unknown"}
    for name, text in files.items():
        tree.write(f"{home}/{name}", f"{text}\n")
    tree.write(f"{home}/uevent", (f"DEVTYPE={one.kind}\n" if one.kind else "") + f"INTERFACE={one.name}\nIFINDEX={number}\n")
    tree.link(f"{home}/subsystem", f"{'../' * (home.count('/') - 1)}class/net")
    if device:
        tree.link(f"{home}/device", device)
    tree.link(f"{_NET}/{one.name}", f"../../{home.removeprefix('/sys/')}")
    tree.append("/proc/1/net/dev", f"{one.name:>6}: {' '.join(f'{0:7}' for _ in range(16))}\n")
    for below in one.lower:
        _stack(tree, one.name, below)
    if one.master:
        enslave(tree, one.master, one.name)
    sysctls(tree, one.name)
    for address in one.addresses:
        give(tree, one.name, address)
    if one.type == ETHER and one.state in ("up", "unknown") and not one.master:
        give(tree, one.name, f"{link_local(mac)}/64")


def link_local(mac: str) -> ipaddress.IPv6Address:
    """The address that the kernel makes of a hardware address (RFC 4291, appendix A)."""
    octets = bytearray.fromhex(mac.replace(":", ""))
    octets[0] ^= 2
    return ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + bytes(octets[:3]) + b"\xff\xfe" + bytes(octets[3:]))


def index(tree: Tree, name: str) -> int:
    """The interface's number, 0 where there is none."""
    place = f"{_NET}/{name}/ifindex"
    return int(tree.text(place)) if tree.at(place).exists() else 0


def _read_all(tree: Tree, file: str) -> list[str]:
    places = tree.at(_NET)
    return [tree.text(f"{_NET}/{path.name}/{file}") for path in places.iterdir() if path.is_dir()] if places.exists() else []


def _home(tree: Tree, name: str) -> str:
    return "/" + str(tree.at(f"{_NET}/{name}/x").parent.relative_to(tree.root))


def _between(tree: Tree, one: str, other: str) -> str:
    """The target of a link in the directory of `one` to that of `other`."""
    return "../" * (_home(tree, one).count("/") - 1) + _home(tree, other).removeprefix("/sys/")


def _stack(tree: Tree, upper: str, lower: str) -> None:
    tree.link(f"{_NET}/{upper}/lower_{lower}", _between(tree, upper, lower))
    tree.link(f"{_NET}/{lower}/upper_{upper}", _between(tree, lower, upper))


def _is_bond(tree: Tree, name: str) -> bool:
    return tree.at(f"{_NET}/{name}/bonding").exists()


def enslave(tree: Tree, master: str, name: str) -> None:
    """Make an interface a port of a bond, of a bridge, or of Hyper-V's synthetic interface."""
    _stack(tree, master, name)
    tree.link(f"{_NET}/{name}/master", _between(tree, name, master))
    if _is_bond(tree, master):
        ports = tree.text(f"{_NET}/{master}/bonding/slaves").split()
        tree.write(f"{_NET}/{master}/bonding/slaves", " ".join([*ports, name]) + "\n")
        state = "up" if tree.text(f"{_NET}/{name}/operstate").strip() == "up" else "down"
        tree.write(f"{_NET}/{name}/bonding_slave/mii_status", f"{state}\n")
        tree.write(f"{_NET}/{name}/bonding_slave/state", "active\n")
    elif tree.at(f"{_NET}/{master}/bridge").exists():
        tree.write(f"{_NET}/{name}/brport/state", "3\n")
        tree.link(f"{_NET}/{master}/brif/{name}", f"../{'../' * (_home(tree, master).count('/') - 1)}{_home(tree, name)[5:]}/brport")


def bond(tree: Tree, one: Netdev, ports: tuple[str, ...], *, mode: str = "802.3ad 4", policy: str = "layer3+4 1") -> None:
    """A bond over interfaces that are there (Linux kernel, networking/bonding)."""
    home = f"{_VIRTUAL}/{one.name}"
    files = {
        "mode": mode,
        "xmit_hash_policy": policy,
        "slaves": "",
        "miimon": "100",
        "mii_status": "up",
        "lacp_rate": "fast 1",
        "active_slave": "",
    }
    for name, text in files.items():
        tree.write(f"{home}/bonding/{name}", f"{text}\n")
    tree.write("/sys/class/net/bonding_masters", " ".join([*_masters(tree), one.name]) + "\n")
    add(tree, Netdev(**{**vars(one), "kind": "bond"}))
    for name in ports:
        enslave(tree, one.name, name)
        rows = tree.text("/proc/1/net/if_inet6").splitlines(keepends=True)
        tree.write("/proc/1/net/if_inet6", "".join(row for row in rows if row.split()[-1] != name))
        flags = int(tree.text(f"{_NET}/{name}/flags"), 16)
        tree.write(f"{_NET}/{name}/flags", f"0x{flags | _SLAVE:x}\n")


def _masters(tree: Tree) -> list[str]:
    path = "/sys/class/net/bonding_masters"
    return tree.text(path).split() if tree.at(path).exists() else []


def vlan(tree: Tree, one: Netdev, parent: str, number: int) -> None:
    add(tree, Netdev(**{**vars(one), "kind": "vlan", "lower": (parent,), "link": index(tree, parent)}))
    path = "/proc/1/net/vlan/config"
    if not tree.at(path).exists():
        tree.write(path, "VLAN Dev name    | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n")
    tree.append(path, f"{one.name:<15}| {number}  | {parent}\n")


def above(tree: Tree, one: Netdev, parent: str, kind: str = "macvlan") -> None:
    """A macvlan or ipvlan."""
    add(tree, Netdev(**{**vars(one), "kind": kind, "lower": (parent,), "link": index(tree, parent)}))


def bridge(tree: Tree, one: Netdev, ports: tuple[str, ...] = ()) -> None:
    tree.write(f"{_VIRTUAL}/{one.name}/bridge/bridge_id", "8000.02005e000101\n")
    tree.directory(f"{_VIRTUAL}/{one.name}/brif")
    add(tree, Netdev(**{**vars(one), "kind": "bridge"}))
    for name in ports:
        enslave(tree, one.name, name)


def child_of_ipoib(tree: Tree, one: Netdev, parent: str, pkey: int) -> None:
    """A child interface of IPoIB, in the partition `pkey` (Linux kernel, infiniband/ipoib)."""
    add(tree, Netdev(**{**vars(one), "type": INFINIBAND, "link": index(tree, parent)}))
    ipoib(tree, one.name, pkey)
    tree.write(f"{_NET}/{one.name}/parent", f"{parent}\n")


def ipoib(tree: Tree, name: str, pkey: int = 0xFFFF) -> None:
    for file, text in (("mode", "datagram"), ("pkey", f"0x{pkey:04x}"), ("umcast", "0")):
        tree.write(f"{_NET}/{name}/{file}", f"{text}\n")


def dummy(tree: Tree, one: Netdev) -> None:
    add(tree, one)
    tree.kinds[one.name] = "dummy"


def pods(tree: Tree) -> None:
    """What a node of Kubernetes has beside its cards: Calico's tunnel and ends of pods' interfaces, the addresses of IPVS."""
    add(tree, Netdev("vxlan.calico", 1450, "unknown", ("10.244.7.0/32",), kind="vxlan"))
    for name in ("cali12d4a061371", "cali7c9f0ab3e25", "calib8e3d1f6402"):
        add(tree, Netdev(name, 1450, mac="ee:ee:ee:ee:ee:ee", speed=10000, link=4))
    dummy(tree, Netdev("kube-ipvs0", 1500, "down", ("10.96.0.1/32", "10.96.0.10/32")))


#: DCB_CAP_DCBX_HOST, _VER_CEE and _VER_IEEE (linux/dcbnl.h): this host configures the port.
_BY_HOST = 0x0D


def bridging(tree: Tree, name: str, *, lossless: tuple[int, ...] = (), vendors: bool = False) -> None:
    """Data Center Bridging of a port; with `vendors` the port trusts DSCP and has ECN on, as the files of DOCA-OFED say."""
    tree.bridging[name] = {"pfc": list(lossless), "dscp": "", "selectors": None, "dcbx": _BY_HOST}
    if vendors:
        tree.write(f"{_NET}/{name}/qos/trust", "dscp\n")
        for half in ("roce_np", "roce_rp"):
            for priority in range(8):
                tree.write(f"{_NET}/{name}/ecn/{half}/enable/{priority}", "1\n")


def sysctls(tree: Tree, name: str, **values: int) -> None:
    """The settings of an interface, or of "all" and "default"; those that are not named keep what they have, 0 at first."""
    for key in ("arp_ignore", "arp_announce", "rp_filter", "arp_filter"):
        path = f"/proc/sys/net/ipv4/conf/{name}/{key}"
        if key in values or not tree.at(path).exists():
            tree.write(path, f"{values.get(key, 0)}\n")


def set_mtu(tree: Tree, name: str, mtu: int) -> None:
    tree.write(f"{_NET}/{name}/mtu", f"{mtu}\n")


def namespace(tree: Tree, *, ports: tuple[int, int] = (32768, 60999)) -> None:
    """A network namespace with its loopback interface, and its settings."""
    tree.write("/proc/1/net/dev", _DEV_HEAD)
    for path in ("route", "if_inet6", "tcp", "tcp6"):
        head = {"route": f"{_ROUTE_HEAD:<127}\n", "tcp": f"{_TCP_HEAD:<150}\n", "tcp6": f"{_TCP_HEAD:<150}\n"}.get(path, "")
        tree.write(f"/proc/1/net/{path}", head)
    tree.write("/proc/sys/net/ipv4/ip_local_port_range", f"{ports[0]}\t{ports[1]}\n")
    tree.write("/proc/sys/net/ipv4/ip_local_reserved_ports", "\n")
    for name in ("all", "default"):
        sysctls(tree, name)
    add(tree, Netdev("lo", 65536, "unknown", type=LOOPBACK, addresses=("127.0.0.1/8", "::1/128")))


def give(tree: Tree, name: str, text: str) -> None:
    """An address of an interface, with the route to its network."""
    address = ipaddress.ip_interface(text)
    if isinstance(address, ipaddress.IPv6Interface):
        scope = 0x10 if address.is_loopback else 0x20 if address.is_link_local else 0
        row = f"{address.ip.packed.hex()} {index(tree, name):02x} {address.network.prefixlen:02x} {scope:02x} 80 {name:>8}\n"
        tree.append("/proc/1/net/if_inet6", row)
        return
    if not address.is_loopback and address.network.prefixlen < 32:  # the loopback network is in the table of local routes alone
        words = (_little(address.network.network_address), _little(ipaddress.IPv4Address(0)), _little(address.network.netmask))
        tree.append("/proc/1/net/route", _route(name, *words, flags=1))
    tree.addresses.append((name, text))
    _write_trie(tree)


def _write_trie(tree: Tree) -> None:
    """The table of routes, both tables being one where no rule was ever set (Linux kernel, net/ipv4/fib_trie.c: fib_trie_seq_show)."""
    rows = ["  +-- 0.0.0.0/0 3 0 5"]
    if tree.text("/proc/1/net/route").count("\t0003\t"):
        rows += ["     |-- 0.0.0.0", "        /0 universe UNICAST"]
    given = [ipaddress.IPv4Interface(text) for _, text in tree.addresses]
    for network in sorted({one.network for one in given}):
        leaves = {network.network_address: f"/{network.prefixlen} " + ("host LOCAL" if network.is_loopback else "link UNICAST")}
        leaves |= {one.ip: "/32 host LOCAL" for one in given if one.network == network}
        if network.prefixlen < 31:
            leaves[network.broadcast_address] = "/32 link BROADCAST"
        rows.append(f"     +-- {network} 2 0 2")
        for address, row in sorted(leaves.items()):
            rows += [f"        |-- {address}", f"           {row}"]
    tree.write("/proc/1/net/fib_trie", "".join(f"{name}:\n" + "".join(f"{row}\n" for row in rows) for name in ("Main", "Local")))


def _route(name: str, destination: str, gateway: str, netmask: str, *, flags: int) -> str:
    row = f"{name}\t{destination}\t{gateway}\t{flags:04X}\t0\t0\t0\t{netmask}\t0\t0\t0"
    return f"{row:<127}\n"


def default_route(tree: Tree, name: str, gateway: str) -> None:
    words = ("00000000", _little(ipaddress.IPv4Address(gateway)), "00000000")
    head, _, rest = tree.text("/proc/1/net/route").partition("\n")
    tree.write("/proc/1/net/route", f"{head}\n{_route(name, *words, flags=3)}{rest}")
    _write_trie(tree)


def listen(tree: Tree, port: int, *, address: str = "0.0.0.0", inode: int = 40960, uid: int = 0) -> None:
    """A TCP socket that listens (Linux kernel, networking/proc_net_tcp)."""
    number = tree.text("/proc/1/net/tcp").count("\n") - 1
    where = f"{_little(ipaddress.IPv4Address(address))}:{port:04X}"
    row = f"{number:4}: {where} 00000000:0000 0A 00000000:00000000 00:00000000 00000000 {uid:5}        0 {inode} 1 0000000000000000 100 0 0 10 0"
    tree.append("/proc/1/net/tcp", f"{row:<149}\n")


def _little(address: ipaddress.IPv4Address) -> str:
    """As the kernel of a little-endian machine prints the word."""
    return f"{struct.unpack('<I', address.packed)[0]:08X}"
