"""The state collected from a job's records, in bounded memory and in any order: networks, channels, hosts, errors."""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from hostagent.domains.nccl.logs.records import Record

#: Records that are kept of one kind.
MOST, FEW = 50_000, 200
Key = TypeVar("Key")


class Channel(NamedTuple):
    """A connection over the network, as its rank writes it."""

    rank: int
    host: str
    gpu: str
    network: str
    device: str
    gdr: bool


class Process(NamedTuple):
    """The process that wrote a record."""

    host: str
    pid: str


@dataclass
class Suspect:
    """A warning that is harmless if the process goes on after it."""

    kind: str  # bind, ofi
    process: Process
    record: Record


@dataclass
class LogState:
    """All data for the verdict and the findings, each with a record as proof."""

    records: int = 0
    libraries: dict[str, Record] = field(default_factory=dict)
    words: dict[str, Record] = field(default_factory=dict)  # libraries that are only named
    versions: dict[str, Record] = field(default_factory=dict)
    networks: dict[str, Record] = field(default_factory=dict)  # that were chosen
    glued_networks: dict[str, Record] = field(default_factory=dict)
    plugins: dict[str, Record] = field(default_factory=dict)
    providers: dict[str, Record] = field(default_factory=dict)
    hcas: dict[tuple[str, str], Record] = field(default_factory=dict)  # host and DEVICE:PORT
    capable: dict[tuple[str, str, bool], Record] = field(default_factory=dict)  # host, HCA, whether
    interfaces: dict[str, Record] = field(default_factory=dict)  # of NET/Socket
    boots: dict[tuple[str, str, str], Record] = field(default_factory=dict)  # host, interface, address
    addresses: set[tuple[str, str]] = field(default_factory=set)  # host and address of NET/Socket and out of band
    settings: dict[tuple[str, str], Record] = field(default_factory=dict)
    channels: dict[Channel, Record] = field(default_factory=dict)
    glued_channels: dict[Channel, Record] = field(default_factory=dict)
    local: dict[str, Record] = field(default_factory=dict)  # P2P, SHM
    hosts: dict[str, set[str]] = field(default_factory=dict)  # with their processes
    nodes: dict[int, Record] = field(default_factory=dict)
    sizes: dict[int, set[int]] = field(default_factory=dict)  # by size of the communicator, the ranks that wrote
    ranks: dict[int, Record] = field(default_factory=dict)  # a record for each size
    wrong_types: list[Record] = field(default_factory=list)
    warnings: list[Record] = field(default_factory=list)
    results: list[Record] = field(default_factory=list)
    traces: list[Record] = field(default_factory=list)
    suspects: list[Suspect] = field(default_factory=list)
    went_on: dict[tuple[str, Process], tuple[str, int]] = field(default_factory=dict)  # the last place of a sign of life
    notes: list[Record] = field(default_factory=list)  # what findings are looked for in
    noted: set[str] = field(default_factory=set)


def first(known: dict[Key, Record], key: Key, record: Record) -> None:
    """Keeps the first record in the log's order, in whatever order they are read."""
    if key not in known:
        if len(known) < MOST:
            known[key] = record
    elif (record.file, record.line) < (known[key].file, known[key].line):
        known[key] = record


def few(known: list[Record], record: Record) -> None:
    """The first ones of a kind."""
    if len(known) < FEW:
        known.append(record)
