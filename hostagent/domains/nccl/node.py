"""One node of a job, out of a report of ``hostagent check``: the part that NCCL's settings depend on.

The report is untrusted: a value of the wrong type makes it invalid.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible
from hostagent.core.frozen import frozen
from hostagent.core.tables.pci import is_for_jobs
from hostagent.core.typed import ShapeError, build
from hostagent.core.unread import Unread

_SCHEMA_VERSION = 2
_NEEDED = ("fabric", "nccl")
_NEXT = "Make it with 'hostagent check --format json -o FILE' of this release, on each node"
_LONGEST_NAME = 100
#: Outcomes of findings that do not matter here.
PASSED = frozenset({"pass", "skip", "off"})
_NOT_THERE = Unread("not-recorded", "the report does not say it")


@frozen
class Priorities:
    """A card's settings of lossless priorities."""

    lossless: tuple[int, ...] | Unread
    trust: str | Unread
    dscp: tuple[tuple[int, int], ...] | Unread
    firmware_dcbx: bool | Unread


@frozen
class Interface:
    """One of ``facts.fabric.nics``."""

    name: str
    kind: str | Unread
    state: str | Unread
    mtu: int | Unread
    master: str | Unread
    parent: str | Unread
    addresses: tuple[str, ...] | Unread  # 10.0.1.5/24
    rdma: tuple[str, ...] | Unread
    priorities: Priorities | Unread


@frozen
class Gid:
    """The GID of a port that NCCL takes from 2.21 on."""

    index: int
    value: str
    type: str | Unread


@frozen
class Port:
    """One of ``facts.fabric.rdma``."""

    pci: str | Unread
    netdev: str | Unread
    link_layer: str | Unread
    state: str | Unread
    rate_gbps: float | Unread
    role: str | Unread
    active_mtu: int | Unread
    gid: Gid | Unread
    driver: str | Unread
    firmware: str | Unread
    device: str = field(metadata={"key": "name"})
    number: int = field(metadata={"key": "port"})

    @property
    def name(self) -> str:
        """As NCCL writes it."""
        return f"{self.device}:{self.number}"


@frozen
class Gdr:
    """The ways of GPUDirect RDMA."""

    peermem: str | Unread
    dmabuf: bool | Unread


@frozen
class Fabric:
    """``facts.fabric``."""

    nics: tuple[Interface, ...] | Unread
    rdma: tuple[Port, ...] | Unread
    gdr: Gdr


@frozen
class Mig:
    """Whether a GPU is cut into instances."""

    current: bool


@frozen
class Gpu:
    """One of ``facts.gpus`` that jobs may have."""

    name: str | Unread
    numa_node: int | Unread
    compute_capability: str | Unread
    memory_bytes: int | Unread = _NOT_THERE
    mig: Mig | Unread = _NOT_THERE


@frozen
class Rail:
    """A GPU with its nearest NICs, by address."""

    gpu: str
    nics: tuple[str, ...] | Unread


@frozen
class Topology:
    """``facts.topology``."""

    rails: tuple[Rail, ...] | Unread


@frozen
class Driver:
    """``facts.driver``."""

    loaded: str | Unread


@frozen
class Platform:
    """``facts.platform``."""

    name: str | Unread
    contained: bool | Unread


@frozen
class Library:
    """One of ``facts.nccl.libraries``."""

    path: str
    version: str | Unread


@frozen
class Plugin:
    """One of ``facts.nccl.plugins``."""

    path: str
    kind: str | Unread  # net, or several with commas
    missing: tuple[str, ...] | Unread

    @property
    def is_network(self) -> bool:
        """By its symbols; one that could not be read, by its name."""
        return self.file.startswith("libnccl-net") if isinstance(self.kind, Unread) else "net" in self.kind.split(",")

    @property
    def file(self) -> str:
        return self.path.rpartition("/")[2]


@frozen
class Setting:
    """One of ``facts.nccl.settings``."""

    name: str
    value: str | Unread  # not kept for an unknown name
    wins: bool
    origin: str = field(metadata={"key": "from"})

    @property
    def text(self) -> str:
        return "" if isinstance(self.value, Unread) else self.value


@frozen
class Nccl:
    """``facts.nccl``."""

    libraries: tuple[Library, ...] | Unread
    plugins: tuple[Plugin, ...] | Unread
    settings: tuple[Setting, ...] | Unread


@frozen
class Facts:
    """``facts``."""

    fabric: Fabric | Unread
    nccl: Nccl | Unread
    gpus: tuple[Gpu, ...] | Unread = _NOT_THERE
    driver: Driver | Unread = _NOT_THERE
    topology: Topology | Unread = _NOT_THERE
    platform: Platform | Unread = _NOT_THERE


@frozen
class Host:
    """The identity of the host."""

    hostname: str
    kernel: str


@frozen
class Step:
    """One of ``findings.remedy``."""

    text: str


@frozen
class Finding:
    """One of ``findings``."""

    id: str
    outcome: str
    severity: str
    axis: str
    message: str
    headline: str
    found: str
    evidence: tuple[str, ...]
    remedy: tuple[Step, ...] = ()


@frozen
class Node:
    """One report."""

    valid_until: float
    boot_id: str
    replayed: bool
    partial: bool
    host: Host
    findings: tuple[Finding, ...]
    facts: Facts
    file: str = ""  # "" of a pass of our own
    label: str = ""  # shown to people: the node's name, with the file where several have the same

    @property
    def name(self) -> str:
        return self.label or shown(self.host.hostname) or shown(self.file) or "this host"


def shown(name: str) -> str:
    r"""A name on one line.

    >>> shown("a\nb")
    'a\\nb'
    """
    return visible(name[:_LONGEST_NAME])


def _relevant_findings(findings: Any) -> Any:
    """The findings without those that passed or did not apply, which are most of them."""
    if not isinstance(findings, list):
        return findings
    return [one for one in findings if not (isinstance(one, Mapping) and one.get("outcome") in tuple(PASSED))]


def gpus_for_jobs(facts: Mapping[str, Any]) -> Any:
    """``gpus`` of a report's facts without those that jobs cannot have, by ``topology.gpus``; as it is where it is no list.

    >>> at = {"gpus": [{"pci": "a", "bound_to": "vfio-pci"}, {"pci": "b", "bound_to": "nvidia"}]}
    >>> gpus_for_jobs({"gpus": [{"pci": "a"}, {"pci": "b"}, {"pci": "c"}], "topology": at})
    [{'pci': 'b'}, {'pci': 'c'}]
    """
    rows, topology = facts.get("gpus"), facts.get("topology")
    known = topology.get("gpus") if isinstance(topology, Mapping) else None
    if not isinstance(rows, list) or not isinstance(known, list):
        return rows
    others = [one.get("pci") for one in known if isinstance(one, Mapping) and not _is_for_jobs(one)]
    return [row for row in rows if not (isinstance(row, Mapping) and row.get("pci") in others)]


def _is_for_jobs(row: Mapping[str, Any]) -> bool:
    return is_for_jobs(row.get("bound_to"), vga=row.get("vga"), excluded=row.get("excluded"))


def _leave(path: tuple[Any, ...]) -> None:
    """Ignores further fields of a report."""


def parse_node(report: Any, file: str = "") -> Node:
    """Raises ``HostagentError`` for anything but a report with the fields that are needed here.

    >>> parse_node({"facts": {"fabric": {}}, "schema_version": 2}, "a.json")
    Traceback (most recent call last):
    hostagent.core.errors.HostagentError: found a.json without facts.nccl, wanted a report that has it. Make it with 'hostagent check ...
    """
    name = shown(file) or "the report"
    if not isinstance(report, Mapping) or not isinstance(report.get("facts"), Mapping):
        raise HostagentError(f"found no report in {name}, wanted the JSON of hostagent check", _NEXT)
    lacking = [part for part in _NEEDED if part not in report["facts"]]
    if lacking:
        raise HostagentError(f"found {name} without facts.{lacking[0]}, wanted a report that has it", _NEXT)
    if report.get("schema_version") != _SCHEMA_VERSION:
        raise HostagentError(f"found {name} of schema_version {report.get('schema_version')!r:.20}, wanted {_SCHEMA_VERSION}", _NEXT)
    facts = report["facts"]
    if "gpus" in facts:
        facts = {**facts, "gpus": gpus_for_jobs(facts)}
    data = {**report, "facts": facts, "findings": _relevant_findings(report.get("findings")), "file": file, "label": ""}
    try:
        node: Node = build(Node, data, name, unknown=_leave)
    except (ShapeError, RecursionError) as error:
        raise HostagentError(f"found a report of another shape: {visible(str(error))[:300]}", _NEXT) from error
    return node
