"""The profile's shapes of pods, judged by the kubelet's own rules on this host as it is without its pods."""

from collections.abc import Iterator

from hostagent.check import Finding, Step, fail, need, shell, skip
from hostagent.facts.gpu import Gpu
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.topology import Topology
from hostagent.facts.unread import Unread
from hostagent.placement.answers import Fix, Placed
from hostagent.profile import PodPolicy
from hostagent.vocabulary import Severity

from ._host import restart, skip_without, started_before_its_files, without_state

_STEP_CHARS = 90
#: The manager whose policy has changed, and the file of the former one.
_STATE_FILES = {"cpuManagerPolicy": "cpu_manager_state", "memoryManagerPolicy": "memory_manager_state"}


def refused(
    name: str, shape: PodPolicy, kubelet: Kubelet, topology: Topology, gpus: tuple[Gpu, ...], *, headline: str
) -> Iterator[Finding]:
    """The finding about a shape that this host's kubelet refuses, with the smallest change that lets it in."""
    skip_without(kubelet)
    if not gpus:
        skip("this host has no GPU")
    placed = _placed(shape, kubelet, topology, gpus)
    if need(placed.admitted):
        return
    yield fail(
        f"the kubelet refuses a pod of {shape.text}: {placed.message or placed.reason}",
        code=placed.reason,
        found=placed.reason,
        wanted="admitted",
        evidence=tuple(_facts(placed)),
        remedy=tuple(_steps(placed, shape, kubelet)),
        headline=headline,
        at_most=_weight(kubelet),
    )


def _placed(shape: PodPolicy, kubelet: Kubelet, topology: Topology, gpus: tuple[Gpu, ...]) -> Placed:
    from hostagent.placement import emptied, node_of, parse_shape, place  # a host without a kubelet pays nothing for it

    return place(emptied(node_of(topology, gpus, kubelet)), (parse_shape(shape.text),))[0]
