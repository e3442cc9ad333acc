"""Coverage: the unread parts of a host, as one word for programs and as text for people."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from hostagent.engine.report import Report
    from hostagent.engine.report.summary import Coverage

_LINK_LAYERS = ("InfiniBand", "Ethernet")
_MEANT = {
    "no-nvml": "NVML",
    "no-rdma": "libibverbs",
    "host-only": "NVML, libibverbs",
    "no-network": "the host's network namespace",
}


def coverage_of_report(report: "Report") -> "Coverage | Literal['']":
    """Empty for a report of selected checks, and for an image, which has no running services to read."""
    from hostagent.domains.nccl.node import gpus_for_jobs

    is_whole = not report.partial and report.read_from != "image"
    return coverage_of(report.facts, gpus_for_jobs(report.facts)) if is_whole else ""


def gap_word(report: "Report") -> str:
    """As above, and also empty where nothing is missing."""
    word = coverage_of_report(report)
    return "" if word == "full" else word


def gap_in_words(word: str) -> str:
    """The unread sources as text.

    >>> gap_in_words("host-only.no-network")
    "no answer from NVML, libibverbs, the host's network namespace (coverage host-only.no-network)"
    """
    return f"no answer from {', '.join(_MEANT.get(part, part) for part in word.split('.'))} (coverage {word})"


def coverage_of(facts: Mapping[str, Any], gpus: Any) -> "Coverage":
    """By unread values: each GPU lacks the values of NVML, each port those of verbs, the fabric those of the host's network namespace."""
    lacks_nvml = _lacks(gpus, "memory_bytes", "compute_capability")
    lacks_rdma = _lacks_verbs(facts.get("fabric"))
    if _lacks_network(facts.get("fabric")):
        if lacks_nvml:
            return "host-only.no-network" if lacks_rdma else "no-nvml.no-network"
        return "no-rdma.no-network" if lacks_rdma else "no-network"
    if lacks_nvml:
        return "host-only" if lacks_rdma else "no-nvml"
    return "no-rdma" if lacks_rdma else "full"


def _lacks_network(fabric: Any) -> bool:
    """Whether values of the host's network namespace are denied: its sysctls (checked by the port range), or DCB of a RoCE card.

    Of another namespace process 1's tables have most addresses, so one that they leave open is no sign.
    """
    if not isinstance(fabric, Mapping) or "unread" in fabric:
        return False
    rows = fabric.get("nics")
    nics = rows if isinstance(rows, list) else []
    priorities = [nic.get("priorities") for nic in nics]
    parts = [value for one in priorities if isinstance(one, Mapping) for value in one.values()]
    values = (rows, fabric.get("port_range"), *priorities, *parts)
    return any(isinstance(value, Mapping) and value.get("unread") == "denied" for value in values)


def _lacks_verbs(fabric: Any) -> bool:
    """The MTU of RoCE ports follows from the kernel's formula, too; then DMA-BUF, which needs the library, decides."""
    ports = fabric.get("rdma") if isinstance(fabric, Mapping) and "unread" not in fabric else fabric
    if not isinstance(ports, list):
        return _lacks(ports)
    ours = [one for one in ports if one.get("link_layer") in _LINK_LAYERS]
    is_asked = any(one.get("active_mtu_from") == "verbs" for one in ours) or fabric["gdr"]["dmabuf"] is True
    return bool(ours) and not is_asked


def _lacks(rows: Any, *names: str) -> bool:
    """Where there is none, nothing is lacking."""
    if not isinstance(rows, list):
        return not (isinstance(rows, Mapping) and rows.get("unread") == "absent")
    values = [row.get(name) for row in rows for name in names]
    return bool(values) and all(value is None or (isinstance(value, Mapping) and value.get("unread") != "absent") for value in values)
