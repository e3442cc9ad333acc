"""Partitions, reservations and defaults of slurm.conf, which decide with a node's state whether Slurm starts a job there."""

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from hostagent.gate.backends.slurmnodes import LISTING_S, Asking
from hostagent.slurm.client import SlurmError, last_line
from hostagent.slurm.node import Node, seconds_of

_FIELD = re.compile(r"(?:\A|\s)([A-Za-z]+)=(\S*)")
_SETTING = re.compile(r"([A-Za-z]+)\s+= (.*)")
_TIME = re.compile(r"(?:([0-9]+)-)?([0-9]+):([0-9]+):([0-9]+)", re.ASCII)
_NUMBER = re.compile(r"([0-9]{1,15})([KMGT]?)", re.ASCII)
#: Of MiB, in which Slurm counts memory.
_FACTORS = {"": 1, "K": 1 / 1024, "M": 1, "G": 1024, "T": 1024 * 1024}
_NOTHING = ("", "(null)", "NONE", "N/A")
_HEALTH = "hostagent"
#: Fields that say who may use a reservation, and a partition; the latter with what admits every one.
_USERS = ("Users", "Groups", "Accounts")
_ADMITS = {"AllowGroups": "ALL", "AllowAccounts": "ALL", "AllowQos": "ALL", "AllocNodes": "ALL", "DenyAccounts": "", "DenyQos": ""}
_PER_GPU = re.compile(r"\b(DefCpuPerGPU|DefMemPerGPU)=([0-9]+)", re.IGNORECASE)


class Partition(NamedTuple):
    """``default_s``: seconds of a job that asks for no time; inf for no limit. Who has a node alone: one job, or the jobs of one user
    (`Exclusive=` of 26.05 says both).
    """

    name: str
    is_default: bool
    state: str
    least_nodes: int
    most_nodes: float
    default_s: float
    wants_reservation: bool
    is_exclusive: bool
    is_of_one_user: bool
    fields: Mapping[str, str]

    @property
    def users(self) -> tuple[str, ...]:
        """The fields that do not admit every job."""
        closed = [f"{key}={self.fields[key]}" for key, all_ in _ADMITS.items() if self.fields.get(key, all_) not in (all_, *_NOTHING)]
        return (*closed, *(("DisableRootJobs=YES",) if self.fields.get("DisableRootJobs") == "YES" else ()))


class Reservation(NamedTuple):
    """``nodes``: its names. ``is_active``: by slurmctld's clock. ``partition``: of its jobs that name none. ``users``: the fields that say
    who may use it.
    """

    name: str
    start: float
    end: float
    is_active: bool
    nodes: frozenset[str]
    partition: str = ""
    users: tuple[str, ...] = ()


class Needs(NamedTuple):
    """What one node has to have free for its share of a job. ``memory``: MiB; inf: all of the node, 0: not counted."""

    cpus: int
    memory: float

    def lacking(self, node: Node) -> str:
        """What running jobs leave too little of, as text; "" where it is enough."""
        if self.cpus > 1 and node.free_cpus is not None and node.free_cpus < self.cpus:
            return f"jobs leave {max(0, node.free_cpus)} of its CPUs, and the job gets {self.cpus} by default"
        if self.memory == math.inf and node.used_memory:
            return f"jobs use {node.used_memory} MiB of its memory, and the job gets all memory by default"
        if 0 < self.memory < math.inf and node.free_memory is not None and node.free_memory < self.memory:
            return f"jobs leave {max(0, node.free_memory)} MiB of its memory, and the job gets {self.memory:.0f} MiB by default"
        return ""


class Settings(NamedTuple):
    """Settings of `scontrol show config`."""

    values: Mapping[str, str]

    @property
    def health_program(self) -> str:
        found = self.values.get("HealthCheckProgram", "")
        return "" if found in _NOTHING else found

    @property
    def health_interval_s(self) -> float:
        found = _NUMBER.match(self.values.get("HealthCheckInterval", ""))
        return float(found[1]) if found else 0.0

    def runs_our_health(self) -> bool:
        """A program of ours by its path, or a script on this machine, too, that calls hostagent."""
        path = self.health_program
        if not path or not self.health_interval_s:
            return False
        return _HEALTH in path or _HEALTH in _script(path)

    def needs(self, partition: Partition, gpus: int) -> Needs:
        """Of a job of one task and so many GPUs on each node: what slurm.conf adds to what it asks for."""
        own = dict(_PER_GPU.findall(partition.fields.get("JobDefaults", "")))
        per_gpu = {key.lower(): int(value) for key, value in own.items()}
        for key, value in _PER_GPU.findall(self.values.get("JobDefaults", "")):
            per_gpu.setdefault(key.lower(), int(value))
        cpus = max(1, per_gpu.get("defcpupergpu", 0) * gpus)
        kinds = partition.fields.get("SelectTypeParameters", "")
        kinds = self.values.get("SelectTypeParameters", "") if kinds in _NOTHING else kinds
        if "MEMORY" not in kinds.upper():
            return Needs(cpus, 0)
        if memory := per_gpu.get("defmempergpu", 0) * gpus:
            return Needs(cpus, memory)
        for fields in (partition.fields, self.values):
            if found := _memory(fields.get("DefMemPerCPU", "")):
                return Needs(cpus, found * cpus)
            if found := _memory(fields.get("DefMemPerNode", "")):
                return Needs(cpus, found)
        return Needs(cpus, math.inf)


def _memory(text: str) -> float:
    found = _NUMBER.fullmatch(text)
    return int(found[1]) * _FACTORS[found[2]] if found else 0.0


def _script(path: str) -> str:
    """Its text; "" where it is not on this machine, or no text."""
    from hostagent.core.smallfile import read_small

    try:
        return read_small(path, 1 << 16).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def read_settings(client: Asking) -> Settings:
    """Raises ``SlurmError``."""
    return Settings({found[1]: found[2].strip() for line in _lines(client, "config") if (found := _SETTING.match(line))})


def read_partitions(client: Asking) -> tuple[Partition, ...]:
    """All, hidden ones too. Raises ``SlurmError``."""
    found = tuple(_partition(line) for line in _lines(client, "partition", "-o", "-a") if line.startswith("PartitionName="))
    if not found:
        raise SlurmError("scontrol show partition shows no partition")
    return found


def read_reservations(client: Asking) -> tuple[Reservation, ...]:
    """All that have nodes. Raises ``SlurmError``."""
    found = list[Reservation]()
    for line in _lines(client, "reservation", "-o", "-a"):
        if not line.startswith("ReservationName="):
            continue
        fields = _fields(line)
        nodes = fields.get("Nodes", "")
        names = frozenset[str]() if nodes in _NOTHING else _hostnames(client, nodes)
        start, end = seconds_of(fields.get("StartTime", "")), seconds_of(fields.get("EndTime", "")) or math.inf
        partition = fields.get("PartitionName", "")
        users = tuple(f"{key}={fields[key]}" for key in _USERS if fields.get(key, "") not in _NOTHING)
        found.append(
            Reservation(
                fields["ReservationName"],
                start,
                end,
                fields.get("State") == "ACTIVE",
                names,
                partition="" if partition in _NOTHING else partition,
                users=users,
            )
        )
    return tuple(found)


def _lines(client: Asking, *what: str) -> list[str]:
    answer = client.ask("scontrol", "show", *what, seconds=LISTING_S)
    if answer.status:
        raise SlurmError(f"scontrol show {what[0]} failed: {last_line(answer)}")
    return answer.out.split("\n")


def _fields(line: str) -> dict[str, str]:
    """The first of each name: free text comes last."""
    found = dict[str, str]()
    for key, value in _FIELD.findall(line):
        found.setdefault(key, value)
    return found


def _hostnames(client: Asking, nodes: str) -> frozenset[str]:
    """The names of a host list; Slurm's own program takes it apart, without slurmctld."""
    answer = client.ask("scontrol", "show", "hostnames", nodes)
    if answer.status:
        raise SlurmError(f"scontrol show hostnames failed: {last_line(answer)}")
    return frozenset(answer.out.split())


def _partition(line: str) -> Partition:
    fields = _fields(line)
    get = fields.get
    longest = _seconds(get("MaxTime", ""))
    return Partition(
        name=fields["PartitionName"],
        is_default=get("Default") == "YES",
        state=get("State", ""),
        least_nodes=int(_amount(get("MinNodes", ""), 0)),
        most_nodes=_amount(get("MaxNodes", ""), math.inf),
        default_s=longest if get("DefaultTime") in _NOTHING else min(longest, _seconds(get("DefaultTime", ""))),
        wants_reservation=get("ReqResv") == "YES",
        is_exclusive=get("OverSubscribe") == "EXCLUSIVE" or get("ExclusiveTopo") == "YES" or get("Exclusive") in ("NODE", "TOPO"),
        is_of_one_user=get("ExclusiveUser") == "YES" or get("Exclusive") == "USER",
        fields=fields,
    )


def _amount(text: str, default: float) -> float:
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 10 else default


def _seconds(text: str) -> float:
    """A time limit as scontrol prints it.

    >>> _seconds("1-02:00:00"), _seconds("00:01:00"), _seconds("UNLIMITED")
    (93600.0, 60.0, inf)
    """
    found = _TIME.fullmatch(text)
    if not found:
        return math.inf
    days, hours, minutes, seconds = (int(one or 0) for one in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
