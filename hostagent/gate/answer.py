"""The gate's answer, as ``hostagent gate --format json`` prints it."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from hostagent.facts.frozen import frozen
from hostagent.gate.request import Request
from hostagent.visible import visible

SCHEMA_VERSION = 1
Backend = Literal["reports", "kubernetes", "slurm"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
#: Whether an affinity names the chosen nodes, or their labels alone.
Pin = Literal["nodes", "class"]
PINS: tuple[Pin, ...] = get_args(Pin)

#: Documents that a submitter gives to a scheduler.
Kind = Literal["indexed-job", "trainjob", "kueue", "volcano", "sbatch"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: Of the whole answer, and of a node. Programs may rely on them: codes are only ever added.
Code = Literal[
    "TooFewNodes",
    "NoCommonClass",
    "Stale",
    "OtherBoot",
    "NotReady",
    "Unknown",
    "MultiNodeNotReady",
    "Coverage",
    "TooFewGpus",
    "Product",
    "ComputeCapability",
    "GpuMemory",
    "Driver",
    "Cuda",
    "Toolkit",
    "Mig",
    "PodShape",
    "Excluded",
    "NotInClass",
    "NotInDomain",
    # those of clusters' backends
    "NoSummary",
    "NodeNotReady",
    "Cordoned",
    "Tainted",
    "Drained",
    "Down",
    "NoFreeGpus",
    "Shared",
    "Dra",
    "Selector",
    "NoFreePods",
    "NotEverythingRead",
]
CODES: tuple[Code, ...] = get_args(Code)


@frozen
class Reason:
    """Why a node is refused, or the whole request: ``found`` and ``wanted`` are values, ``message`` is for people."""

    code: Code
    message: str
    found: str
    wanted: str


def printable_reason(code: Code, message: str, found: str, wanted: str) -> Reason:
    """Of texts that a host, a file or a cluster may have chosen."""
    return Reason(code, visible(message), visible(found), visible(wanted))


@frozen
class Refused:
    """A node that the job is not placed on, and all reasons for that."""

    node: str
    reasons: tuple[Reason, ...]


@frozen
class Examined:
    """How many nodes were looked at, and how many of them have no reason against them."""

    nodes: int
    eligible: int
    not_examined: int


@frozen
class Answer:
    """Whether a job may be placed, where, and with which settings; or why not. ``valid_until``: seconds since 1970."""

    schema_version: int
    backend: Backend
    placeable: bool
    request: Request
    nodes: tuple[str, ...]
    gpus: Mapping[str, int]
    valid_until: float | None
    fabric_class: str
    domain: str
    reasons: tuple[Reason, ...]
    refused: tuple[Refused, ...]
    warnings: tuple[str, ...]
    examined: Examined
    not_asked: tuple[str, ...]
    pin: Pin
    selector: Mapping[str, str]
    affinity: Mapping[str, Any]
    tolerations: tuple[Mapping[str, Any], ...]
    env: Mapping[str, str]
    env_by_node: Mapping[str, Mapping[str, str]]
