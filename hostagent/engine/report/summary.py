"""The summary of a report for schedulers, and its schema. `hostagent.engine.report.node_summary` makes it."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from hostagent.core.field_texts import field_texts
from hostagent.core.frozen import frozen
from hostagent.core.typed import UNREAD_SCHEMA, schema
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Action, Severity, Verdict

SCHEMA_VERSION = 1
#: Two sources joined by a dot, which the value of a label may have.
Coverage = Literal[
    "full", "no-nvml", "no-rdma", "host-only", "no-network", "no-nvml.no-network", "no-rdma.no-network", "host-only.no-network"
]


@frozen
class Reason:
    """One of the report's causes that count: ``action`` is the first step's, ``subject`` "" of the whole host."""

    id: str
    """The check."""
    code: str
    """Which of its findings."""
    severity: Severity
    """Its severity."""
    subject: str
    """The devices, with commas; empty for the whole host."""
    action: Action
    """The action of its first step."""


@frozen
class Advisories:
    """The axis of security: how many findings, and how many could not be judged."""

    advisories: int
    """How many findings there are."""
    unknown: int
    """How many could not be checked."""


@frozen
class Gpus:
    """Common values of all GPUs that jobs may use; several names with commas. ``mig``: whether it is on for one of them."""

    count: int
    """How many there are."""
    product: str | Unread
    """The product, as GPU feature discovery spells it; several with commas."""
    memory_gib: int | Unread
    """Memory of each, in GiB."""
    compute_capability: str | Unread
    """As NVIDIA writes it, such as 9.0."""
    mig: bool | Unread
    """Whether one of them is cut into instances."""


@frozen
class Fabric:
    """``class`` and ``host_class`` are equal on nodes that one job may use together (`domains.nccl.fabric_class`); ``inputs`` is what they
    are made of; ``domain``: the GPUs that NVLink reaches.
    """

    inputs: Mapping[str, str | Unread] | Unread
    """The inputs of both classes as text; one that was cut ends with the number of names left out."""
    domain: str | Unread
    """The GPUs that NVLink reaches, on this host and on others."""
    firmware: str | Unread
    """Firmware of the HCAs of the rails; of several versions, the count of each. No part of a class."""
    host_class: str | Unread
    """The same for a job that uses the host's NCCL: it has more inputs."""
    class_: str | Unread = field(metadata={"key": "class"})
    """Equal on nodes that one job with its own NCCL may use together: the version of the list of inputs, a dash, and 12 digits of
    their SHA-256."""


@frozen
class Nccl:
    """The version that jobs find, and the settings that they need, as ``hostagent nccl env`` says."""

    version: str | Unread
    """The version that jobs find on this host."""
    env: Mapping[str, str] | Unread
    """The settings that jobs need here, as in 'hostagent nccl env'."""


@frozen
class Numa:
    """The resources of one NUMA node for pods."""

    gpus: int | Unread
    """GPUs on it."""
    cpus: int | Unread
    """CPUs that pods may have."""
    memory_gib: int | Unread
    """Memory of it, in GiB."""


@frozen
class Kubelet:
    """Its managers' policies, and its NUMA nodes in order."""

    policy: str | Unread
    """Of its topology manager."""
    scope: str | Unread
    """Of its topology manager."""
    cpu_manager: str | Unread
    """Its policy."""
    memory_manager: str | Unread
    """Its policy."""
    devices: Literal["numa", "plain", "dra"] | Unread
    """Whether it knows the NUMA nodes of the GPUs: numa; plain, it does not; dra, GPUs are no devices of a plug-in."""
    numa: tuple[Numa, ...] | Unread
    """The NUMA nodes, in order."""


@frozen
class Summary:
    """Times are seconds since the epoch."""

    schema_version: int
    """Of this document."""
    node: str
    """The host's name in schedulers."""
    boot_id: str
    """The kernel's id of the boot that was checked."""
    observed_at: float
    """When the host was read, in seconds since 1970."""
    valid_until: float
    """Until when jobs may be placed by it, in seconds since 1970."""
    verdict: Mapping[Literal["single_node", "multi_node"], Verdict]
    """Whether a job may be placed: yes with ready and degraded."""
    headline: str
    """The headline of the first cause; empty where nothing counts."""
    action: Action
    """The action of the first step."""
    security: Advisories
    """Published vulnerabilities of what runs here."""
    coverage: Coverage
    """What could not be read here: NVML, verbs, or both (host-only); the host's network namespace (no-network)."""
    reasons: tuple[Reason, ...]
    """The first causes that count, in the order of the report."""
    gpus: Gpus | Unread
    """The GPUs that jobs may have: none that a virtual machine or nouveau holds."""
    driver: str | Unread
    """Version of the loaded kernel module."""
    cuda: str | Unread
    """Highest CUDA version that the driver runs."""
    toolkit: str | Unread
    """Version of the NVIDIA Container Toolkit."""
    fabric: Fabric
    """The network of jobs."""
    nccl: Nccl
    """The library of jobs."""
    kubelet: Kubelet | Unread
    """Policies of the kubelet, and its NUMA nodes."""


def summary_schema() -> dict[str, Any]:
    """An unread value has only its reason here; the report has the details."""
    body: dict[str, Any] = _without_detail(schema(Summary, texts=field_texts))
    return body


def _without_detail(body: Any) -> Any:
    if body == UNREAD_SCHEMA:
        why = UNREAD_SCHEMA["properties"]["unread"]  # type: ignore[index]
        return {"type": "object", "required": ["unread"], "additionalProperties": False, "properties": {"unread": why}}
    if isinstance(body, dict):
        return {key: _without_detail(value) for key, value in body.items()}
    return [_without_detail(value) for value in body] if isinstance(body, list) else body
