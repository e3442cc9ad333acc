"""The facts part of a report: our facts under the names that other systems read, one module per name."""

from typing import Any

from hostagent.domains.driver import report as driver
from hostagent.domains.gpu import report as gpus
from hostagent.domains.kubelet import report as kubelet
from hostagent.domains.nccl import report as nccl
from hostagent.domains.network import report as fabric
from hostagent.domains.report_json import object_schema
from hostagent.domains.runtime import report as runtimes
from hostagent.domains.runtime import report_toolkit as toolkit
from hostagent.domains.system import report as platform
from hostagent.domains.topology import report as topology
from hostagent.facts.hostfacts import HostFacts

#: Name in the report, and the module whose `write` and `schema` make it.
_PARTS = {
    "gpus": gpus,
    "driver": driver,
    "toolkit": toolkit,
    "runtimes": runtimes,
    "kubelet": kubelet,
    "platform": platform,
    "topology": topology,
    "fabric": fabric,
    "nccl": nccl,
}


def report_facts(facts: HostFacts, hcas: str = "") -> dict[str, Any]:
    """Each part as JSON. An unread value has its reason, never null. `hcas`: the profile's ports of jobs, "" for those near GPUs."""
    return {name: part.write(facts) if part is not fabric else fabric.write(facts, hcas) for name, part in _PARTS.items()}


def facts_schema() -> dict[str, Any]:
    """JSON Schema of `report_facts`, from the types of its facts."""
    return object_schema({name: part.schema() for name, part in _PARTS.items()})
