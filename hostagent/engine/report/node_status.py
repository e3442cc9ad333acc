"""The status that hostagent publishes of its node: conditions, labels and annotations, names without our prefix."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from hostagent.core.frozen import frozen

#: The six, without our prefix, in display order.
ConditionType = Literal["Ready", "MultiNodeReady", "DriverReady", "ToolkitReady", "TopologyReady", "FabricReady"]
Status = Literal["True", "False", "Unknown"]


@frozen
class Device:
    """A device that a condition is about: its PCI address, and its UUID ("" where it has none or it was not read)."""

    pci: str
    uuid: str


@frozen
class Condition:
    """One condition of the node. ``changed_at``: when its status became what it is, seconds since the epoch."""

    type: ConditionType
    status: Status
    reason: str
    message: str
    changed_at: float
    devices: tuple[Device, ...] = ()


@frozen
class Transition:
    """One change of the status of one condition. ``number`` counts them for good; ``at``: seconds since the epoch.

    ``old`` and ``new`` are statuses; "" for a condition that the node has not.
    """

    number: int
    at: float
    boot_id: str
    condition: str
    old: str
    new: str
    reason: str
    message: str
    devices: tuple[Device, ...]


@frozen
class NodeWords:
    """All that hostagent publishes of its node, names without our prefix. A value None is a name to be removed.

    ``conditions`` has those that apply, ``removed`` names the others.
    """

    conditions: tuple[Condition, ...]
    removed: tuple[ConditionType, ...]
    labels: Mapping[str, str | None]
    annotations: Mapping[str, str | None]


def compact(summary: Mapping[str, Any]) -> str:
    """The summary as compact ASCII JSON, for an annotation."""
    return json.dumps(summary, separators=(",", ":"), sort_keys=True)


def camel_case(check: str) -> str:
    """The reason of a condition from a check's id.

    >>> camel_case("gpu.xid"), camel_case("driver.library_match"), camel_case("acme.gpu2.is_cold")
    ('GpuXid', 'DriverLibraryMatch', 'AcmeGpu2IsCold')
    """
    return "".join(word[:1].upper() + word[1:] for part in check.split(".") for word in part.split("_"))
