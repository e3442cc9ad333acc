"""``gpus``: the GPUs of the host, by PCI address."""

from typing import Any

from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts
from hostagent.report.facts.values import each, fields_schema, object_schema, or_unread, picked

_GPU = ("index", "name", "uuid", "serial", "pci", "numa_node", "memory_bytes", "compute_capability", "ecc", "mig")


def write(facts: HostFacts) -> Any:
    return each(facts.of(Gpu), lambda gpu: picked(gpu, _GPU))


def schema() -> dict[str, Any]:
    return or_unread({"type": "array", "items": object_schema(fields_schema(Gpu, _GPU))})
