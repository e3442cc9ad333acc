"""Network controllers on PCI, with their interfaces and RDMA devices (Linux kernel, ABI/testing/sysfs-bus-pci).

The directories ``net`` and ``infiniband`` of a PCI function are the kernel's own lists. Files below /sys/class/infiniband may query the
card's firmware, and are not read here.
"""

# Of a virtual function only device id, driver, net, infiniband and physfn are read (a card may have 256): NUMA node, CPUs and vendor
# are its card's, and it has no link. virtio has `net` below its virtio device. Not read: /sys/kernel/pci_switch_link (fused
# Broadcom switches), deep idle states; the link above a switch is not evaluated. The ConnectX-7 functions of HGX B200 that lead
# to NVLink switches become rails if a host has no other RDMA NIC.

import re
from collections.abc import Callable
from typing import Any

from hostagent.core.parsing import stops_at_unread
from hostagent.core.unread import Unread, need
from hostagent.domains.topology import read_pci
from hostagent.facts.topology import Nic
from hostagent.host.source import Source

_NETWORK = 0x02
_VIRTIO = "virtio-pci"
_VIRTIO_DEVICE = re.compile(r"virtio[0-9]{1,5}", re.ASCII)
_NO_LINK = Unread("not-supported", "a virtual function has no link of its own")


@stops_at_unread
def addresses(source: Source) -> tuple[str, ...]:
    """The functions of class 02xx; unread if the class of one function cannot be read."""
    found: list[str] = []
    for name in need(source.listdir(read_pci.DEVICES, absent=())):
        if read_pci.is_address(name):
            kind = read_pci.number(source, name, "class")
            if isinstance(kind, Unread) and kind.why == "absent":  # removed since it was listed
                continue
            if need(kind) >> 16 == _NETWORK:
                found.append(name)
    return tuple(found)


@stops_at_unread
def read_nics(source: Source, known: Callable[[type], Any]) -> tuple[Nic, ...]:
    listed = need(addresses(source))
    nics: dict[str, Nic] = {}
    physical = {address: _physical(source, address) for address in listed}
    for address in sorted(listed, key=lambda one: isinstance(physical[one], str) and bool(physical[one])):  # physical functions first
        of = physical[address]
        nics[address] = _virtual(source, address, nics[of]) if isinstance(of, str) and of in nics else _nic(source, address, of)
    return tuple(nics[address] for address in sorted(nics))


def _physical(source: Source, address: str) -> "str | Unread":
    target = source.readlink(f"{read_pci.DEVICES}/{address}/physfn")
    if isinstance(target, Unread):
        return "" if target.why == "absent" else target
    return target.rstrip("/").rpartition("/")[2]


def _nic(source: Source, address: str, of: "str | Unread") -> Nic:
    bound = read_pci.bound_to(source, address)
    link = (
        _link(source, address)
        if isinstance(of, Unread) or not of
        else dict.fromkeys(("link_speed", "link_speed_max", "link_width", "link_width_max"), _NO_LINK)
    )
    return Nic(
        pci=address,
        vendor_id=read_pci.identity(source, address, "vendor"),
        device_id=read_pci.identity(source, address, "device"),
        bound_to=bound,
        virtual_of=of,
        numa_node=read_pci.count(source, address, "numa_node"),
        local_cpus=read_pci.word(source, address, "local_cpulist"),
        netdevs=_netdevs(source, address, bound),
        rdma=source.listdir(f"{read_pci.DEVICES}/{address}/infiniband", absent=()),
        **link,
    )


def _virtual(source: Source, address: str, physical: Nic) -> Nic:
    """A virtual function. A card may have hundreds: values shared with the card (SR-IOV specification, section 3.4) are not read again."""
    bound = read_pci.bound_to(source, address)
    return Nic(
        pci=address,
        vendor_id=physical.vendor_id,
        device_id=read_pci.identity(source, address, "device"),
        bound_to=bound,
        virtual_of=physical.pci,
        numa_node=physical.numa_node,
        local_cpus=physical.local_cpus,
        netdevs=_netdevs(source, address, bound),
        rdma=source.listdir(f"{read_pci.DEVICES}/{address}/infiniband", absent=()),
        link_speed=_NO_LINK,
        link_speed_max=_NO_LINK,
        link_width=_NO_LINK,
        link_width_max=_NO_LINK,
    )


@stops_at_unread
def _netdevs(source: Source, address: str, bound: "str | Unread") -> tuple[str, ...]:
    """Interfaces; those of virtio are below a virtio device of the function."""
    directory = f"{read_pci.DEVICES}/{address}"
    if bound != _VIRTIO:
        return need(source.listdir(f"{directory}/net", absent=()))
    inner = [name for name in need(source.listdir(directory)) if _VIRTIO_DEVICE.fullmatch(name)]
    return tuple(name for one in inner for name in need(source.listdir(f"{directory}/{one}/net", absent=())))


def _link(source: Source, address: str) -> dict[str, Any]:
    return {
        "link_speed": read_pci.word(source, address, "current_link_speed"),
        "link_speed_max": read_pci.slower(
            read_pci.word(source, address, "max_link_speed"), read_pci.word(source, address, "../max_link_speed")
        ),
        "link_width": read_pci.count(source, address, "current_link_width"),
        "link_width_max": read_pci.lanes(source, address),
    }
