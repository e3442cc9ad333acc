"""The questions about the network, and how they are answered. Runs only in the network worker.

Questions, as ``source.network(…)`` asks them and a recording keeps them (``network device eth0``). A value V is the kernel's text, or
``{"unread": [why, detail]}``::

    devices         all interfaces by name
    others          one text for each software interface that no check needs in detail: name, index, kind, index of the interface
                    below it or at its other end, MTU, operstate, flags, and its master, / for none
    device NAME     of each other one: ifindex, iflink, mtu, operstate, flags, type, pci, devtype, master, parent: V; kind; lower (names);
                    bonding ("" or mode and xmit_hash_policy: V); sysctls (arp_ignore, arp_announce, arp_filter, rp_filter: V)
    settings        all (the same sysctls of all interfaces), port_range, reserved_ports: V
    addresses       [name, address, length of its prefix]; below another root names with blanks between where it can be any of them
    listeners       [port, process] of the ports that jobs want
    kinds           by name, the kind of those where sysfs and the kernel differ
    speed NAME      Mb/s: V
    vendors NAME    of ports with an RDMA device, if the driver shows them: trust: V, ecn (by roce_np, roce_rp and priority: V)
    dcb NAME        of ports with an RDMA device: pfc (priorities), dscp ("26:3"), selectors, dcbx

What asks a card, or takes the lock of all interfaces, comes last. Below ``--host-root`` the worker enters the host's network namespace,
setns(2), where it has CAP_SYS_ADMIN and may open /proc/1/ns/net (CAP_SYS_PTRACE). Where it may not, DCB, sysctls and kinds are denied.
Then it gives up what asking does not need.
"""

# Two namespaces are one if /proc/1/net/dev below the root and /proc/self/net/dev have one inode: stat(2) needs no right, readlink
# of /proc/1/ns/net is denied in a container (measured). psutil, netlink and /proc/sys/net are always those of the reading
# process. sysfs shows the namespace it was mounted in, so its names are compared with /proc/1/net/dev before and after.

import os
from functools import partial
from typing import Any, NamedTuple

from hostagent.core.unread import Unread
from hostagent.domains.network import read_interface_addresses, read_interfaces, read_listeners, read_netlink
from hostagent.domains.network.read_interfaces import CLASS, Interface
from hostagent.domains.network.tables.numbers import JOB_PORTS
from hostagent.host.attributes import json_value
from hostagent.host.files import Files, unread
from hostagent.host.paths import Root
from hostagent.sandbox.least_privileges import network_worker
from hostagent.sandbox.namespaces import enter_network_namespace
from hostagent.sandbox.worker_spec import LOAD_S, LOADING, Ask

#: More than any host has: bounds the work below an untrusted --host-root.
_MOST = 2048
#: Interfaces that one call reads: each takes some tenth of a millisecond, and more on a busy machine.
_AT_ONCE = 64
_SETTINGS = {"port_range": "ip_local_port_range", "reserved_ports": "ip_local_reserved_ports"}
_NOT_OURS = Unread("denied", "the host's network namespace is not this process' own")
_MADE = Unread("denied", "this is no live host: its network is not the kernel's")
_VIRTUAL = Unread("not-supported", "a virtual function has no priorities of its own")


class Namespace(NamedTuple):
    """The network namespace that /sys shows, and which data of this process' own namespace equal it."""

    net: str  # its directory in /proc
    unasked: "Unread | None"  # why the kernel is not asked by a socket
    unset: "Unread | None"  # why /proc/sys/net, which is always the reader's own, is not read


class Found:
    """The interfaces: those to read in detail, those that cannot be read, and the kind of each."""

    def __init__(self) -> None:
        self.full: dict[str, Interface] = {}
        self.failed: dict[str, Unread] = {}
        self.kinds: dict[str, str] = {}


def answer_all(ask: Ask, files: Files, root: Root) -> "Unread | None":
    """Ask everything. Returns why nothing could be asked, if so."""
    space: Namespace = ask((), "looking whose network namespace it is", partial(namespace, root))
    if space.unasked is _NOT_OURS:
        space = ask((), "entering the host's network namespace", partial(entered, root, space))
    ask((), "giving up rights", network_worker)
    names = ask(("network", "devices"), f"list {CLASS}", partial(_names, root, files, space))
    found = Found()
    if not isinstance(names, Unread):
        rows: list[str] = []
        for first in range(0, len(names), _AT_ONCE):
            some = names[first : first + _AT_ONCE]
            ask((), f"reading {CLASS}/{some[0]} and its like", partial(_read, root, some, found, rows))
        ask(("network", "others"), f"reading {CLASS}", partial(list, rows))
    for name, why in found.failed.items():
        ask(("network", "device", name), f"{CLASS}/{name}", partial(_same, why))
    for name, one in found.full.items():
        ask(("network", "device", name), f"{CLASS}/{name}", partial(_device, root, space, one))
    ask(("network", "settings"), "reading /proc/sys/net", partial(_settings, root, files, space))
    ask(("network", "listeners"), f"reading {space.net}/tcp", partial(read_listeners.listeners, root, files, space.net, JOB_PORTS))
    if space.unasked is None:
        psutil: Any = ask((), f"{LOADING} psutil", _load, LOAD_S)
        ask(("network", "addresses"), "net_if_addrs", partial(read_interface_addresses.by_psutil, psutil))
    else:
        ask(("network", "addresses"), f"reading {space.net}/fib_trie", partial(read_interface_addresses.by_tables, files, space.net))
    _ask_cards(ask, root, space, found)
    return None


def _ask_cards(ask: Ask, root: Root, space: Namespace, found: Found) -> None:
    ask(("network", "kinds"), "RTM_GETLINK", partial(_kinds, space, found.kinds))
    for name, one in found.full.items():
        known = read_interfaces.has_speed(one)
        ask(
            ("network", "speed", name),
            f"{CLASS}/{name}/speed",
            partial(read_interfaces.speed, root, name) if known is None else partial(_same, known),
        )
    ports = [one for one in found.full.values() if _is_rdma(root, one)]
    for one in filter(read_interfaces.has_vendors, ports):
        ask(("network", "vendors", one.name), f"{CLASS}/{one.name}/ecn", partial(read_interfaces.vendors, root, one.name))
    for one in ports:
        ask(("network", "dcb", one.name), f"DCB of {one.name}", partial(_dcb, root, space, one))


def _same(answer: Unread) -> Unread:
    return answer


def open_network_namespace(root: Root) -> int:
    """A descriptor of the network namespace of process 1 of the host at `root`; the caller closes it (proc_pid_ns(5)).

    /proc/1/ns/net is a magic link, which no look-up inside a root follows: its directory is opened there. Raises ``OSError``: without
    CAP_SYS_PTRACE the kernel refuses it.
    """
    directory = root.open("/proc/1/ns", os.O_PATH | os.O_DIRECTORY)
    try:
        return os.open("net", os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
    finally:
        os.close(directory)


def namespace(root: Root) -> Namespace:
    """Compares inodes of /proc/PID/net files, one per namespace: /proc/PID/ns/net needs a capability that containers lack."""
    if root.path == "/":
        return Namespace("/proc/self/net", None, None)
    if root.simulated:
        return Namespace("/proc/1/net", _MADE, None)
    path = "/proc/1/net/dev"
    try:
        place = root.open(path, os.O_PATH)
        try:
            ours = os.fstat(place).st_ino == os.stat("/proc/self/net/dev").st_ino
        finally:
            os.close(place)
    except OSError as error:
        why = unread(error, path)
        return Namespace("/proc/1/net", why, why)
    return Namespace("/proc/1/net", *((None, None) if ours else (_NOT_OURS, _NOT_OURS)))


def entered(root: Root, space: Namespace) -> Namespace:
    """The host's network namespace as this process' own, for the rest of its life; `space` where the kernel refuses that."""
    try:
        opened = open_network_namespace(root)
        try:
            enter_network_namespace(opened)
        finally:
            os.close(opened)
    except OSError:
        return space
    return namespace(root)


def _names(root: Root, files: Files, space: Namespace) -> "list[str] | Unread":
    """/sys shows the namespace that it was mounted in: it is the host's if its names equal those of /proc/1/net/dev."""
    before = _in_proc(files, space.net)
    listed = files.list(CLASS)
    if isinstance(listed, Unread):
        return [] if listed.why == "absent" and root.exists("/sys/class") else listed
    names = [name for name in listed if name != "bonding_masters"]  # a file of all bonds
    if len(names) > _MOST:
        return Unread("error", f"{CLASS} has more than {_MOST} interfaces")
    after = _in_proc(files, space.net)
    if root.simulated or isinstance(before, Unread) or isinstance(after, Unread):
        return names
    if before & after <= set(names) <= before | after:
        return names
    return Unread("error", f"{CLASS} and {space.net}/dev show two network namespaces")


def _in_proc(files: Files, net: str) -> "frozenset[str] | Unread":
    data = files.read(f"{net}/dev")
    return data if isinstance(data, Unread) else parse_dev(data.decode("utf-8", "replace"))


def parse_dev(text: str) -> "frozenset[str]":
    r"""Interfaces of /proc/net/dev.

    >>> sorted(parse_dev("Inter-|   Receive\n face |bytes\n    lo:  24 2\neth0: 3 4\n"))
    ['eth0', 'lo']
    """
    return frozenset(line.rpartition(":")[0].strip() for line in text.splitlines()[2:] if ":" in line)


def _read(root: Root, names: "list[str]", found: Found, rows: "list[str]") -> None:
    """Rows of software interfaces go to `rows`, all others to `found`."""
    for name in names:
        try:
            one = Interface(root, name)
        except FileNotFoundError:  # gone since it was listed
            continue
        except (OSError, ValueError) as error:
            found.failed[name] = unread(error, f"{CLASS}/{name}")
            continue
        found.kinds[name] = one.kind
        if row := one.row:
            rows.append(row)
        else:
            found.full[name] = one


def _device(root: Root, space: Namespace, found: Interface) -> "dict[str, Any]":
    settings = (
        read_interfaces.sysctls(root, found.name)
        if space.unset is None
        else dict.fromkeys(read_interfaces.SYSCTLS, json_value(space.unset))
    )
    return found.plain(settings)


def _settings(root: Root, files: Files, space: Namespace) -> "dict[str, Any]":
    if space.unset is not None:
        return {"all": dict.fromkeys(read_interfaces.SYSCTLS, json_value(space.unset)), **dict.fromkeys(_SETTINGS, json_value(space.unset))}
    words = {key: files.read(f"/proc/sys/net/ipv4/{name}") for key, name in _SETTINGS.items()}
    return {
        "all": read_interfaces.sysctls(root, "all"),
        **{
            key: json_value(data if isinstance(data, Unread) else " ".join(data.decode("ascii", "replace").split()))
            for key, data in words.items()
        },
    }


def _kinds(space: Namespace, by_sysfs: "dict[str, str]") -> "dict[str, str] | Unread":
    answer = space.unasked if space.unasked is not None else read_netlink.kinds()
    if isinstance(answer, Unread):
        return answer
    by_word = {name: read_interfaces.BY_WORD.get(word, "other") for name, (_, word) in answer.items() if word}
    return {name: kind for name, kind in sorted(by_word.items()) if name in by_sysfs and kind != by_sysfs[name]}


def _is_rdma(root: Root, found: Interface) -> bool:
    """Whether its card has an RDMA device: in a bond one of the two ports has that of both. InfiniBand has no such priorities."""
    if found.kind != "physical" or not isinstance(found.pci, str) or not found.pci:
        return False
    slot = found.pci.rpartition(".")[0]
    return any(root.exists(f"/sys/bus/pci/devices/{slot}.{function}/infiniband") for function in range(8))


def _dcb(root: Root, space: Namespace, found: Interface) -> "dict[str, Any] | Unread":
    if root.exists(f"/sys/bus/pci/devices/{found.pci}/physfn"):
        return _VIRTUAL
    return space.unasked if space.unasked is not None else read_netlink.dcb(found.name)


def _load() -> Any:
    import psutil

    return psutil
