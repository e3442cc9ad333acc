"""The fewest changes by which a rejected pod is admitted, each proved by the model."""

# A drop-in merges maps, so an option is set to false and not left out; our drop-in has a name after those that are read, else the
# last of them is named. At most three fields change, the gentlest first (pod's CPUs, scope, topology options, full-pcpus-only,
# memory policy, policy), never an alpha option (align-by-socket); distribute-cpus-across-numa is proposed by no fix.

from collections.abc import Iterator
from itertools import combinations, product
from typing import NamedTuple

from hostagent.core.unread import UnreadError
from hostagent.domains.kubelet.placement.answers import Fix
from hostagent.domains.kubelet.placement.masks import TooManyError
from hostagent.domains.kubelet.placement.merge import PanicError
from hostagent.domains.kubelet.placement.model import Model
from hostagent.domains.kubelet.placement.node import Node
from hostagent.domains.kubelet.placement.pods import Pod, is_guaranteed
from hostagent.domains.kubelet.placement.settings import MOST_SEARCHED, Settings, refusal

#: More fields than these are no small change.
_MOST_FIELDS = 3
#: Other numbers of CPUs that are tried.
_MOST_CPUS = 8


class _Change(NamedTuple):
    """One field's new value: of the configuration, or the CPUs of the pod's container."""

    settings: dict[str, object]
    field: str = ""
    value: object = None
    millicores: int = 0


def fix_of(node: Node, chosen: Settings, before: tuple[Pod, ...], pod: Pod) -> Fix | None:
    """None where no such change helps. `before` are the pods that have been admitted on this node already."""
    fields = list(_fields(node, chosen, pod))
    for count in range(1, _MOST_FIELDS + 1):
        for group in combinations(fields, count):
            for changes in product(*group):
                if _helps(node, chosen, before, pod, changes):
                    configuration = tuple((one.field, one.value) for one in changes if one.field)
                    return Fix(configuration, tuple(("cpu", one.millicores) for one in changes if one.millicores))
    return None


def _fields(node: Node, chosen: Settings, pod: Pod) -> Iterator[tuple[_Change, ...]]:
    """For each field that may change its other values, the gentlest field first."""
    cpus = tuple(_Change({}, millicores=1000 * count) for count in _other_cpus(node, chosen, pod))
    if cpus:
        yield cpus
    if chosen.policy != "none":
        scope = "pod" if chosen.scope == "container" else "container"
        yield (_Change({"scope": scope}, "topologyManagerScope", scope),)
        options = tuple(_topology_options(node, chosen))
        if options:
            yield options
    if chosen.static_cpus and chosen.options.full_pcpus_only:
        value = {**dict(chosen.cpu_options), "full-pcpus-only": "false"}  # a drop-in merges maps: what it leaves out stays
        yield (_Change({"options": chosen.options._replace(full_pcpus_only=False)}, "cpuManagerPolicyOptions", value),)
    if chosen.static_memory:
        yield (_Change({"static_memory": False}, "memoryManagerPolicy", "None"),)
    policies = ("restricted", "best-effort", "none") if chosen.policy == "single-numa-node" else ("best-effort", "none")
    if chosen.policy != "none":
        others = (policy for policy in policies if policy != chosen.policy)
        yield tuple(_Change({"policy": policy}, "topologyManagerPolicy", policy) for policy in others)


def _topology_options(node: Node, chosen: Settings) -> Iterator[_Change]:
    written = dict(chosen.topology_options)
    if chosen.most_nodes < len(node.numa) <= MOST_SEARCHED:
        value = written | {"max-allowable-numa-nodes": str(len(node.numa))}
        yield _Change({"most_nodes": len(node.numa)}, "topologyManagerPolicyOptions", value)
    if chosen.closest:
        value = written | {"prefer-closest-numa-nodes": "false"}
        yield _Change({"closest": False}, "topologyManagerPolicyOptions", value)


def _other_cpus(node: Node, chosen: Settings, pod: Pod) -> list[int]:
    """Other numbers of CPUs of the one container that has them for itself, at which they need other NUMA nodes; the nearest first."""
    if not chosen.static_cpus or len(pod.containers) != 1 or not is_guaranteed(pod) or pod.has_own_resources:
        return []
    asked = pod.containers[0].requests.get("cpu", 0)
    if asked % 1000:
        return []
    try:
        cpus = Model(node, chosen).cpus
    except (UnreadError, TooManyError):
        return []
    if cpus is None:
        return []
    step = cpus.topology.per_core if chosen.options.full_pcpus_only else 1
    sizes = sorted((len(found) for found in cpus.topology.in_node.values()), reverse=True)
    free = sorted((len(found & cpus.available) for found in cpus.topology.in_node.values()), reverse=True)
    now = asked // 1000
    found = {now // step * step, -(-now // step) * step}
    for count in range(1, len(sizes) + 1):
        found |= {(sum(sizes[: count - 1]) // step + 1) * step, sum(free[:count]) // step * step}
    return sorted((one for one in found if 0 < one != now), key=lambda one: (abs(one - now), one))[:_MOST_CPUS]


def _helps(node: Node, chosen: Settings, before: tuple[Pod, ...], pod: Pod, changes: tuple[_Change, ...]) -> bool:
    changed = chosen
    for one in changes:
        changed = changed._replace(**one.settings)  # type: ignore[arg-type]
        pod = _with_cpus(pod, one.millicores) if one.millicores else pod
    try:
        if refusal(changed, node):
            return False
        model = Model(node, changed)
        return all(model.admit(one).admitted for one in (*before, pod))
    except (UnreadError, TooManyError, PanicError):
        return False


def _with_cpus(pod: Pod, millicores: int) -> Pod:
    (one,) = pod.containers
    cpu = {"cpu": millicores}
    return pod._replace(containers=(one._replace(requests={**one.requests, **cpu}, limits={**one.limits, **cpu}),))
