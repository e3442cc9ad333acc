"""The host's topology, only from sysfs: nodes, packages, cores, and the PCI paths of GPUs and NICs."""

# Compared with lstopo 2.9 (Debian 12); other versions were not tried.

import re
from collections.abc import Callable
from typing import Any

from hostagent.core.parsing import stops_at_unread
from hostagent.core.unread import Unread, need, then
from hostagent.domains.topology import read_cpus, read_nodes, read_pci
from hostagent.domains.topology.read_controls import read_controls, read_gpu_ports
from hostagent.domains.topology.read_nics import addresses
from hostagent.facts.topology import PciPlace, Topology
from hostagent.host.source import Source
from hostagent.host.values import number_in

_BALANCING = "/proc/sys/kernel/numa_balancing"
#: A host bridge in a sysfs path: pci0000:16. Behind Intel's VMD and in Hyper-V one is below other devices.
_HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}", re.ASCII)
_BRIDGE = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)


def read_topology(source: Source, known: Callable[[type], Any]) -> Topology:
    running, gpus = read_cpus.online(source), _gpus(source)
    places = _places(source, gpus)
    controls = read_controls(source, places, gpus)
    return Topology(
        numa_nodes=read_nodes.numa_nodes(source, running),
        packages=read_cpus.packages(source, running),
        cores=read_cpus.cores(source, running),
        places=places,
        controls=controls,
        gpu_ports=read_gpu_ports(source, places, gpus, controls),
        governors=read_cpus.governors(source, running),
        numa_balancing=_balancing(source),
        cpu_vendor=read_cpus.vendor(source),
    )


def _balancing(source: Source) -> "bool | Unread":
    """Whether pages migrate to the CPUs that use them: the bit of value 1 (Linux kernel, admin-guide/sysctl/kernel); False if no file."""
    found = number_in(source, _BALANCING)
    return False if isinstance(found, Unread) and found.why == "absent" else then(found, lambda bits: bool(bits & 1))


@stops_at_unread
def _gpus(source: Source) -> frozenset[str]:
    return frozenset(
        one.pci for one in need(read_pci.scan(source)) if one.vendor == read_pci.NVIDIA and one.kind in (read_pci.VGA, read_pci.THREE_D)
    )


@stops_at_unread
def _places(source: Source, gpus: "frozenset[str] | Unread") -> tuple[PciPlace, ...]:
    found: list[PciPlace] = []
    for address in sorted(need(gpus) | set(need(addresses(source)))):
        path = source.realpath(f"{read_pci.DEVICES}/{address}")
        if not isinstance(path, Unread) or path.why != "absent":  # removed since it was listed
            found.append(need(parse_place(need(path), address)))
    return tuple(found)


def parse_place(path: str, address: str) -> "PciPlace | Unread":
    """A device's place on PCI, from the target of its link in /sys/bus/pci/devices.

    >>> parse_place("/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/0000:1b:00.0", "0000:1b:00.0")
    PciPlace(pci='0000:1b:00.0', root='pci0000:16', bridges=('0000:16:01.0', '0000:17:00.0', '0000:18:00.0'))
    """
    *parts, last = path.split("/")
    roots = [index for index, part in enumerate(parts) if _HOST_BRIDGE.fullmatch(part)]
    if last != address or not roots:
        return Unread(
            "error", f"{read_pci.DEVICES}/{address} leads to {path[:200]!r}, wanted a path with a host bridge that ends in the address"
        )
    bridges = tuple(parts[roots[-1] + 1 :])
    if not all(map(_BRIDGE.fullmatch, bridges)):
        return Unread("error", f"{path[:200]!r} has more than PCI bridges between host bridge and device")
    return PciPlace(address, parts[roots[-1]], bridges)
