"""The profile's shapes of pods, judged by the kubelet's own rules on this host as it is without its pods."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hostagent.check import Finding, Severity, Step, Unread, counted, fail, need, shell, skip
from hostagent.domains.kubelet.joined import is_unjoined
from hostagent.domains.kubelet.tables.config_paths import STATE_FILES
from hostagent.facts.gpu import Gpu
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.topology import Topology
from hostagent.profile import PodPolicy

from ._host import is_stopped, restart, skip_without, started_before_its_files, without_state

if TYPE_CHECKING:
    from hostagent.domains.kubelet.placement.answers import Fix, Placed
    from hostagent.domains.kubelet.placement.node import Node

_STEP_CHARS = 90
_CODES = {"": "not-offered", "KubeletNotStarting": "not-starting", "KubeletPanic": "panics"}


def empty_node(kubelet: Kubelet, topology: Topology, gpus: tuple[Gpu, ...]) -> "Node":
    """The host as the model sees it, without its pods; the check does not apply where containers get no GPU from a kubelet."""
    skip_without(kubelet)
    if not gpus:
        skip("this host has no GPU")
    if kubelet.joined is False and is_unjoined(kubelet):
        skip("the kubelet has joined no cluster yet")
    from hostagent.domains.kubelet.placement import emptied, node_of  # a host without a kubelet pays nothing for it
    from hostagent.domains.kubelet.placement.node import GPU_RESOURCE, is_gpu_resource

    node = emptied(node_of(topology, gpus, kubelet))
    if node.state != "rejected":
        names = {one.resource for one in need(node.devices) if is_gpu_resource(one.resource)}
        if not names:
            skip("containers get no GPU of this host by a device plug-in")
        if len(names) > 1 and GPU_RESOURCE not in names:
            skip("the GPUs are offered in parts of several sizes (MIG)")
    return node


def refused(shape: PodPolicy, node: "Node", kubelet: Kubelet, name: str = "") -> Iterator[Finding]:
    """The finding about a shape that this host's kubelet refuses, with the smallest change that lets it in."""
    from hostagent.domains.kubelet.placement import admits_by_count

    if shape.text == f"gpus={shape.gpus}" and admits_by_count(node, shape.gpus):
        return
    from hostagent.domains.kubelet.placement import parse_shape, place

    (placed,) = place(node, (parse_shape(shape.text),))
    if need(placed.admitted):
        return
    what = f"a pod of the shape {name} ({_words(shape)})" if name else f"a pod with {_words(shape)}"
    does = f"the kubelet refuses {what}" if placed.reason else f"{what} has no place here"
    yield fail(
        f"{does}: {placed.message.rstrip('.') or placed.reason}",
        code=_CODES.get(placed.reason, "refused"),
        found=placed.reason or "not offered",
        wanted="admitted",
        evidence=_rules(placed),
        remedy=_steps(placed, shape, kubelet),
        at_most=_weight(kubelet),
    )


def _words(shape: PodPolicy) -> str:
    """The shape as people say it: all GPUs, 96 CPUs, 200Gi of memory."""
    asked = (("CPUs", shape.cpus), ("of memory", shape.memory), ("NICs", shape.nics))
    gpus = counted(shape.gpus, "GPU") if shape.gpus else "all GPUs"
    return ", ".join((gpus, *(f"{value} {noun}" for noun, value in asked if str(value) != "0")))


def _rules(placed: "Placed") -> tuple[str, ...]:
    named = (("topologyManagerPolicy", placed.policy), ("topologyManagerScope", placed.scope))
    return tuple(f"{key}: {value}" for key, value in named if not isinstance(value, Unread))


def _weight(kubelet: Kubelet) -> "Severity | None":
    """A kubelet that runs with another configuration than the one on disk may admit it today: only its next start is known to refuse it."""
    if is_stopped(kubelet):
        return None
    if need(kubelet.state) == "rejected":
        return "warning"
    times = (kubelet.started_at, kubelet.newest_config_mtime)
    return None if any(isinstance(one, Unread) for one in times) or not started_before_its_files(kubelet) else "warning"


def _steps(placed: "Placed", shape: PodPolicy, kubelet: Kubelet) -> tuple[Step, ...]:
    ask = shell("hostagent topology --pod {}", shape.text)
    if placed.fix is None and placed.reason == "KubeletNotStarting":
        return (Step("configure", "Correct the configuration that the kubelet refuses."), restart(kubelet))
    if placed.fix is None:
        return (Step("configure", "Declare a shape that fits: no change of the kubelet's configuration lets this one in.", ask),)
    fields = [field for field, _ in placed.fix.configuration]
    steps = [Step("configure", _said(placed.fix), ask)]
    steps += [without_state(kubelet, STATE_FILES[field]) for field in fields if field in STATE_FILES]
    if fields and len(steps) == 1:
        steps.append(restart(kubelet))
    return tuple(steps)


def _said(fix: "Fix") -> str:
    """The change in words, where they are few."""
    parts = [f"{field} to {_value(value)}" for field, value in fix.configuration]
    asks = [f"{amount / 1000:g} CPUs" if name == "cpu" else f"{amount} {name}" for name, amount in fix.pod]
    said = [f"set {' and '.join(parts)}"] if parts else []
    said += [f"let the pod ask for {' and '.join(asks)}"] if asks else []
    text = ", and ".join(said)
    text = f"{text[:1].upper()}{text[1:]}."
    return text if len(text) <= _STEP_CHARS else "Change the kubelet's configuration as this prints."


def _value(value: object) -> str:
    if isinstance(value, dict):
        return " and ".join(f"{key}={item}" for key, item in value.items()) or "nothing"
    return str(value)
