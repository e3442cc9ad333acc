"""``gpus``: the GPUs of the host, by PCI address."""

from typing import Any

from hostagent.core.typed import plain
from hostagent.core.unread import Unread, then
from hostagent.domains.report_json import each, fields_schema, object_schema, or_unread, picked
from hostagent.facts.gpu import FabricInfo, Gpu
from hostagent.facts.hostfacts import HostFacts

_GPU = ("index", "name", "uuid", "serial", "pci", "numa_node", "memory_bytes", "compute_capability", "ecc", "mig")


def write(facts: HostFacts) -> Any:
    return each(facts.of(Gpu), lambda gpu: {**picked(gpu, _GPU), "nvlink_domain": plain(then(gpu.fabric, _domain))})


def _domain(info: FabricInfo) -> "str | Unread":
    """The NVLink domain, as GPU feature discovery writes a clique: its GPUs, on one host or several, reach each other by NVLink."""
    known = bool(info.cluster_uuid.strip("0-"))
    return f"{info.cluster_uuid}.{info.clique_id}" if known else Unread("absent", "its fabric does not reach beyond this host")


def schema() -> dict[str, Any]:
    return or_unread(
        {"type": "array", "items": object_schema({**fields_schema(Gpu, _GPU), "nvlink_domain": or_unread({"type": "string"})})}
    )
