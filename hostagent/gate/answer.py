"""The gate's answer, as ``hostagent gate --format json`` prints it."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from hostagent.core.escape import visible
from hostagent.core.frozen import frozen
from hostagent.gate.request import Request

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
    """What it is: stable, for programs."""
    message: str
    """The same for people. It may change from release to release."""
    found: str
    """The value that was found."""
    wanted: str
    """The value that was wanted."""


def printable_reason(code: Code, message: str, found: str, wanted: str) -> Reason:
    """Of texts that a host, a file or a cluster may have chosen."""
    return Reason(code, visible(message), visible(found), visible(wanted))


@frozen
class Refused:
    """A node that the job is not placed on, and all reasons for that."""

    node: str
    """The node."""
    reasons: tuple[Reason, ...]
    """All reasons against it."""


@frozen
class Examined:
    """How many nodes were looked at, and how many of them have no reason against them."""

    nodes: int
    """How many nodes were looked at: files have a report of them, or the cluster was asked."""
    eligible: int
    """How many of them have no reason against them, as far as was asked: free GPUs are asked of few nodes."""
    not_examined: int
    """How many nodes the backend knows and did not look at."""


@frozen
class Answer:
    """Whether a job may be placed, where, and with which settings; or why not. ``valid_until``: seconds since 1970."""

    schema_version: int
    """The version of this schema."""
    backend: Backend
    """Where the nodes were looked up."""
    placeable: bool
    """Whether the job may be placed."""
    request: Request
    """What was asked for."""
    nodes: tuple[str, ...]
    """The chosen nodes; empty where the job cannot be placed."""
    gpus: Mapping[str, int]
    """By chosen node how many GPUs jobs may have there."""
    valid_until: float | None
    """When the answer is too old to place the job by, in seconds since 1970; null where the job cannot be placed."""
    fabric_class: str
    """The fabric class of the chosen nodes; empty where they have not one."""
    domain: str
    """Their NVLink domain; empty where they are of several, or of none."""
    reasons: tuple[Reason, ...]
    """Why the whole request is refused; empty where it is not."""
    refused: tuple[Refused, ...]
    """The nodes that are not eligible; where the job cannot be placed, those outside the largest class too."""
    warnings: tuple[str, ...]
    """What is worth a look: files that are no reports, and what was not judged."""
    examined: Examined
    """What the answer is based on."""
    not_asked: tuple[str, ...]
    """What was not asked, and may refuse the job: kinds of its pods' namespace; of Slurm limits of accounts and QOS."""
    pin: Pin
    """Whether the affinity names the chosen nodes (nodes), or their labels alone (class)."""
    selector: Mapping[str, str]
    """Labels for a pod's nodeSelector; empty where no label carries the class."""
    affinity: Mapping[str, Any]
    """A pod's affinity: the same labels, and with pin nodes the names of the chosen nodes."""
    tolerations: tuple[Mapping[str, Any], ...]
    """The job's tolerations, as a pod has them."""
    env: Mapping[str, str]
    """Settings of NCCL that all chosen nodes have with one value."""
    env_by_node: Mapping[str, Mapping[str, str]]
    """By node, the settings that differ from node to node."""
