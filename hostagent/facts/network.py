"""Network interfaces of the host's network namespace (Linux kernel, ABI/testing/sysfs-class-net; netdevice(7))."""

from typing import Literal

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread

NetdevKind = Literal[
    "physical", "vf", "bond", "vlan", "bridge", "macvlan", "ipvlan", "veth", "dummy", "ipoib", "loopback", "tunnel", "other"
]


@frozen
class Address:
    """An address of an interface."""

    value: str  # 10.0.1.5, fe80::1: as Python's ipaddress writes it
    prefix: int  # length of its network's prefix
    label: str = ""  # a name of its own: eth0:1; "" for that of its interface, and where the kernel's tables alone could be read


@frozen
class Priorities:
    """Data Center Bridging of an Ethernet port (IEEE 802.1Q; linux/dcbnl.h). Priorities are 0 to 7."""

    lossless: tuple[int, ...] | Unread  # with PFC
    trust: str | Unread  # dscp, pcp: by which field of a packet the port chooses its priority
    dscp: tuple[tuple[int, int], ...] | Unread  # DSCP and its priority, where configured; () is the card's default, DSCP >> 3
    firmware_dcbx: bool | Unread  # the card negotiates with the switch: the kernel's settings may not apply
    ecn: tuple[int, ...] | Unread  # with ECN as sender and as receiver of RoCE (OFED); not-supported where the driver does not show it
    asked: bool | Unread  # True: kernel and driver answered, also with "not supported"; else why one could not be asked


@frozen
class Netdev:
    """One network interface."""

    name: str
    index: int | Unread  # the kernel's order
    kind: NetdevKind | Unread
    pci: str | Unread  # of its function, "" of one made of software
    mtu: int | Unread  # bytes
    state: str | Unread  # operstate: up, down, lowerlayerdown, dormant, unknown …
    flags: int | Unread  # IFF_*: 0x1 up, 0x8 loopback, 0x40 running where the state says so
    speed_mbps: int | Unread  # not-supported while the link is down, and of software
    master: str | Unread  # the bond or bridge that it is a port of, "" for none
    parent: str | Unread  # below it: of a VLAN, macvlan, ipvlan, a child of IPoIB; of a VF that of its physical function; "" for none
    ports: tuple[str, ...] | Unread  # of a bond or bridge
    bond_mode: str | Unread  # sysfs' words: "802.3ad 4"; "" of what is no bond
    hash_policy: str | Unread  # of a bond: "layer3+4 1"
    addresses: tuple[Address, ...] | Unread
    arp_ignore: int | Unread  # as it counts: the higher of all's and its own (Linux kernel, ip-sysctl)
    arp_announce: int | Unread
    arp_filter: int | Unread
    rp_filter: int | Unread
    priorities: Priorities | Unread  # of interfaces with an RDMA device; not-supported of others


@frozen
class Listener:
    """A process that listens on a TCP port that jobs use."""

    port: int
    process: str  # its name, "" where it cannot be seen


@frozen
class Network:
    """The network namespace of the judged host."""

    netdevs: tuple[Netdev, ...] | Unread  # by index, then name
    port_range: tuple[int, int] | Unread  # ip_local_port_range: first and last
    reserved_ports: tuple[tuple[int, int], ...] | Unread  # ip_local_reserved_ports: of that range, never assigned automatically
    listeners: tuple[Listener, ...] | Unread  # of the ports in `hostagent.domains.network.tables.numbers.JOB_PORTS`

    def netdev(self, name: str) -> "Netdev | Unread":
        """The interface of that name; absent when there is no such one."""
        if isinstance(self.netdevs, Unread):
            return self.netdevs
        return next((one for one in self.netdevs if one.name == name), Unread("absent", f"the host has no interface {name}"))
