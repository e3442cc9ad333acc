"""Allocatable GPUs of Kubernetes: of this node, where its name is known. Does not affect the exit code."""

# kubectl's answer for this node, else for all; else what the kubelet has given to its device plug-ins' devices.

from hostagent.core.unread import Unread
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kubelet import Kubelet
from hostagent.setup.found import failed, says
from hostagent.setup.line import Line
from hostagent.setup.tool_output import Answered

_RESOURCE = "nvidia.com/gpu"


def kubernetes(facts: HostFacts, tool: "Answered | None") -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """The script's line, and further notes."""
    if tool is not None and tool.path and not tool.problem:
        where = f"on node {tool.versions[0]}" if tool.versions else "over all nodes"
        known = Line("INFO", f"Kubernetes: {says(tool)} counts {tool.gpus} {_RESOURCE} allocatable {where}")
        return (_reports(tool.gpus > 0),), (known,)
    warnings = tuple(Line("WARN", text) for text in failed("Kubernetes", tool))
    devices = _devices(facts)
    if devices is not None:
        known = Line("INFO", f"Kubernetes: {devices} healthy {_RESOURCE} is what this node's kubelet has registered")
        return (_reports(devices > 0),), (*warnings, known)
    if tool is not None and tool.path:
        return (_reports(has_some=False),), warnings
    return (Line("WARN", "kubectl not found; cannot check cluster GPU capacity"),), ()


def _reports(has_some: bool) -> Line:
    if has_some:
        return Line("OK", f"Kubernetes reports {_RESOURCE} allocatable")
    return Line("WARN", f"Kubernetes does not report {_RESOURCE} allocatable")


def _devices(facts: HostFacts) -> "int | None":
    """Number of devices; None where no kubelet of this host shows it."""
    kubelet = facts.of(Kubelet)
    if isinstance(kubelet, Unread) or not isinstance(kubelet.unit, str) or not kubelet.unit or isinstance(kubelet.given, Unread):
        return None
    found = kubelet.given.devices
    if isinstance(found, Unread) or not found:
        return None
    return sum(1 for one in found if one.resource == _RESOURCE and one.healthy is not False)
