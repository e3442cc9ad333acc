"""Nested boxes of the picture: packages, their NUMA nodes, the switches below these, GPUs and NICs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hostagent.core.escape import cut
from hostagent.core.text import counted
from hostagent.core.vocabulary import SEVERITIES, Severity
from hostagent.facts.cpulist import parse_cpulist
from hostagent.outputs import digest
from hostagent.outputs.topology import parts
from hostagent.outputs.topology import ports as ports_of
from hostagent.outputs.topology.document import Document, MapFinding
from hostagent.outputs.topology.parts import Device
from hostagent.outputs.topology.ports import Port

#: Characters of a line in a box.
_LINE = 26
#: Ports in the box of one NIC.
_PORTS = 2


class Box(NamedTuple):
    """One box: its lines, findings and inner boxes."""

    kind: str  # host, package, node, switch, gpu, nic
    lines: tuple[str, ...]
    finds: tuple[MapFinding, ...] = ()
    inner: tuple["Box", ...] = ()

    @property
    def severity(self) -> Severity | str:
        return next((one for one in SEVERITIES if any(found.severity == one for found in self.finds)), "")

    @property
    def title(self) -> str:
        """The headlines of the findings, for the tooltip."""
        return "; ".join(dict.fromkeys(digest.short(one.headline) for one in self.finds))


class _Placed(NamedTuple):
    device: Device
    box: Box


def boxes(document: Document) -> tuple[Box, ...]:
    """The outermost boxes: packages with their NUMA nodes, then devices without one."""
    found = _devices(document)
    nodes = parts.rows(document.numa_nodes)
    ids = [parts.text_of(one.get("id")) for one in nodes]
    row = dict(zip(ids, nodes, strict=True))
    cpus = {name: _cpus(one.get("cpus")) for name, one in row.items()}
    at = {name: [one for one in found if one.device.node == name] for name in ids}
    made: list[Box] = []
    taken: set[str] = set()
    for package in parts.rows(document.packages):
        own = _cpus(package.get("cpus"))
        inside = [name for name in ids if name not in taken and cpus[name] & own]
        taken.update(inside)
        lines = (f"Package {parts.text_of(package.get('id'))}", *(() if inside else (f"CPUs {_line(parts.text_of(package.get('cpus')))}",)))
        made.append(Box("package", lines, (), tuple(_node(name, row[name], at[name]) for name in inside)))
    made += [_node(name, row[name], at[name]) for name in ids if name not in taken and (cpus[name] or at[name])]
    made += _without_cpus(document, {name for name in ids if name not in taken and not cpus[name] and not at[name]})
    others = dict.fromkeys(one.device.node for one in found if one.device.node not in at)
    return (*made, *(Box("node", (_nowhere(name),), (), _below(one for one in found if one.device.node == name)) for name in others))


def _devices(document: Document) -> list[_Placed]:
    finds: dict[str, list[MapFinding]] = {}
    nics = ports_of.nic_of(document)
    for one in document.findings:
        finds.setdefault(nics.get(one.subject, one.subject), []).append(one)
    placed, found = [], ports_of.ports(document)
    for kind, known in (("gpu", parts.devices(document.gpus)), ("nic", parts.nics(document))):
        for device in known:
            box = Box(kind, (), tuple(finds.get(device.pci, ())))
            lines = [_line(device.name), *([device.pci] if device.pci != device.name else [])]
            about = (device.known_as if kind == "nic" else "", device.link if device.link != parts.UNREAD else "")
            lines += [_line(text) for text in about if text]
            lines += _ports(ports_of.of_nic(found, device.pci)) if kind == "nic" else []
            lines += [box.severity] if box.severity else []
            placed.append(_Placed(device, box._replace(lines=tuple(lines))))
    return placed


def _ports(found: Sequence[Port]) -> list[str]:
    """Role, state, rate and MTU of each port; of several with its name."""
    lines = []
    for one in found[:_PORTS]:
        mtu = "/".join(filter(None, (one.mtu, one.active)))
        lines += [one.name] if len(found) > 1 else []
        lines += [" ".join(filter(None, (one.role, one.state.partition(" ")[0], one.rate))), f"MTU {mtu}" if mtu else ""]
    more = len(found) - _PORTS
    return [_line(text) for text in (*lines, counted(more, "more port") if more > 0 else "") if text]


def _cpus(text: object) -> frozenset[int]:
    try:
        return frozenset(parse_cpulist(text)) if isinstance(text, str) else frozenset()
    except ValueError:
        return frozenset()


def _node(name: str, row: Mapping[str, Any], placed: Sequence[_Placed]) -> Box:
    cpus = parts.text_of(row.get("cpus"))
    about = f"{f'CPUs {_line(cpus)}' if cpus else 'no CPUs'}, {parts.amount(row.get('memory_bytes'))}"
    return Box("node", (f"NUMA node {name}", about), (), _below(placed))


def _without_cpus(document: Document, names: set[str]) -> list[Box]:
    """NUMA nodes with neither CPUs nor devices: one small box for equal ones."""
    alike: dict[str, list[str]] = {}
    for one in parts.rows(document.numa_nodes):
        if (name := parts.text_of(one.get("id"))) in names:
            alike.setdefault(parts.amount(one.get("memory_bytes")), []).append(name)
    return [
        Box("node", (f"NUMA node{'s' if len(ids) > 1 else ''} {_line(parts.ranges(ids))}", f"no CPUs, {memory}"))
        for memory, ids in alike.items()
    ]


def _nowhere(node: str) -> str:
    known = {"-1": "No NUMA node: the firmware names none", parts.UNREAD: "NUMA node not read"}
    return known.get(node, f"NUMA node {_line(node)}, which is not listed")


def _below(placed: Iterable[_Placed], depth: int = 0) -> tuple[Box, ...]:
    """Devices, and the switches that they hang below; the first of a device's bridges is its root port."""
    made: dict[str, list[_Placed]] = {}
    for one in placed:
        made.setdefault(_switch(one.device, depth) or f"\0{one.device.pci}", []).append(one)
    return tuple(
        inside[0].box if name.startswith("\0") else Box("switch", (f"Switch {_line(name)}",), (), _below(inside, depth + 1))
        for name, inside in made.items()
    )


def _switch(device: Device, depth: int) -> str:
    """The upstream port of the switch at this depth: a switch is two bridges, its upstream port and the downstream port of a device."""
    at = 1 + 2 * depth
    return device.bridges[at] if len(device.bridges) > at + 1 and depth < 8 else ""


def _line(text: str) -> str:
    return digest.short(cut(text, _LINE))
