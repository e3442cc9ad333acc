"""The summary: what whoever places jobs needs of a report, and its shape. `hostagent.report.summarized` makes it."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from hostagent.facts.frozen import frozen
from hostagent.facts.unread import Unread
from hostagent.typed import UNREAD_SCHEMA, schema
from hostagent.vocabulary import Action, Severity, Verdict

SCHEMA_VERSION = 1
#: What each field says, for the schema.
DESCRIPTIONS: Mapping[str, str] = {
    "schema_version": "Of this document.",
    "node": "What schedulers call the host.",
    "boot_id": "Which boot of it was judged.",
    "observed_at": "When the host was read, in seconds since 1970.",
    "valid_until": "When this is too old to place a job by, in seconds since 1970.",
    "verdict": "May a job be placed: ready and degraded let it be.",
    "headline": "What happened, of the first cause; empty where nothing counts.",
    "action": "What its first step does.",
    "security": "Published vulnerabilities of what runs here.",
    "security.advisories": "How many findings there are.",
    "security.unknown": "How many could not be checked.",
    "coverage": "What could not be read here: NVML, verbs, or both (host-only); the host's network namespace (no-network).",
    "reasons": "The first causes that count, in the order of the report.",
    "reasons.id": "The check.",
    "reasons.code": "Which of its findings.",
    "reasons.severity": "How much it weighs.",
    "reasons.subject": "The devices, with commas; empty for the whole host.",
    "reasons.action": "What the first step does.",
    "gpus": "The GPUs that jobs may have: none that a virtual machine or nouveau holds.",
    "gpus.count": "How many there are.",
    "gpus.product": "What they are, as GPU feature discovery spells it; several kinds with commas.",
    "gpus.memory_gib": "Memory of each, in GiB.",
    "gpus.compute_capability": "As NVIDIA writes it, such as 9.0.",
    "gpus.mig": "Whether one of them is cut into instances.",
    "driver": "Version of the loaded kernel module.",
    "cuda": "Highest CUDA version that the driver runs.",
    "toolkit": "Version of the NVIDIA Container Toolkit.",
    "fabric": "The network of jobs.",
    "fabric.class": "Equal on nodes that one job may use together that brings its own NCCL: the version of the list of inputs, a dash, and "
    "12 digits of their SHA-256.",
    "fabric.host_class": "The same for a job that uses the host's NCCL: it is made of more inputs.",
    "fabric.inputs": "What both classes are made of, in words; a text that was cut ends with how many names are left out.",
    "fabric.domain": "The GPUs that NVLink reaches, on this host and on others.",
    "fabric.firmware": "Of the HCAs of the rails; of several versions, how many have which. No part of a class.",
    "nccl": "The library of jobs.",
    "nccl.version": "The version that jobs find on this host.",
    "nccl.env": "The settings that jobs need here, as 'hostagent nccl env' says them.",
    "kubelet": "What the kubelet does with pods.",
    **{
        f"kubelet.{name}": text
        for name, text in (
            ("policy", "Of its topology manager."),
            ("scope", "Of its topology manager."),
            ("cpu_manager", "Its policy."),
            ("memory_manager", "Its policy."),
            ("devices", "Whether it knows the NUMA nodes of the GPUs: numa; plain, it does not; dra, GPUs are no devices of a plug-in."),
            ("numa", "The NUMA nodes, in order."),
            ("numa.gpus", "GPUs on it."),
            ("numa.cpus", "CPUs that pods may have."),
            ("numa.memory_gib", "Memory of it, in GiB."),
        )
    },
}  # fmt: skip

#: Two sources joined by a dot, which the value of a label may have.
Coverage = Literal[
    "full", "no-nvml", "no-rdma", "host-only", "no-network", "no-nvml.no-network", "no-rdma.no-network", "host-only.no-network"
]


@frozen
class Reason:
    """One of the report's causes that count: ``action`` is the first step's, ``subject`` "" of the whole host."""

    id: str
    code: str
    severity: Severity
    subject: str
    action: Action


@frozen
class Advisories:
    """The axis of security: how many findings, and how many could not be judged."""

    advisories: int
    unknown: int


@frozen
class Gpus:
    """What all GPUs that jobs may have have alike; of several kinds the names, with commas. ``mig``: whether it is on for one of them."""

    count: int
    product: str | Unread
    memory_gib: int | Unread
    compute_capability: str | Unread
    mig: bool | Unread


@frozen
class Fabric:
    """``class`` and ``host_class`` are equal on nodes that one job may use together (`hostagent.nccl.fabricclass`); ``inputs`` is what they
    are made of; ``domain``: the GPUs that NVLink reaches.
    """

    inputs: Mapping[str, str | Unread] | Unread
    domain: str | Unread
    firmware: str | Unread
    host_class: str | Unread
    class_: str | Unread = field(metadata={"key": "class"})


@frozen
class Nccl:
    """The version that jobs find, and the settings that they need, as ``hostagent nccl env`` says."""

    version: str | Unread
    env: Mapping[str, str] | Unread


@frozen
class Numa:
    """What pods may have of one NUMA node."""

    gpus: int | Unread
    cpus: int | Unread
    memory_gib: int | Unread


@frozen
class Kubelet:
    """Its managers' policies, and its NUMA nodes in order."""

    policy: str | Unread
    scope: str | Unread
    cpu_manager: str | Unread
    memory_manager: str | Unread
    devices: Literal["numa", "plain", "dra"] | Unread
    numa: tuple[Numa, ...] | Unread


@frozen
class Summary:
    """Times are seconds since the epoch."""

    schema_version: int
    node: str
    boot_id: str
    observed_at: float
    valid_until: float
    verdict: Mapping[Literal["single_node", "multi_node"], Verdict]
    headline: str
    action: Action
    security: Advisories
    coverage: Coverage
    reasons: tuple[Reason, ...]
    gpus: Gpus | Unread
    driver: str | Unread
    cuda: str | Unread
    toolkit: str | Unread
    fabric: Fabric
    nccl: Nccl
    kubelet: Kubelet | Unread


def summary_schema() -> dict[str, Any]:
    """A value that was not read says why, and nothing more: the report has the rest."""
    body: dict[str, Any] = _without_detail(schema(Summary))
    return body


def _without_detail(body: Any) -> Any:
    if body == UNREAD_SCHEMA:
        why = UNREAD_SCHEMA["properties"]["unread"]  # type: ignore[index]
        return {"type": "object", "required": ["unread"], "additionalProperties": False, "properties": {"unread": why}}
    if isinstance(body, dict):
        return {key: _without_detail(value) for key, value in body.items()}
    return [_without_detail(value) for value in body] if isinstance(body, list) else body
