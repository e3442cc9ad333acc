"""Why a pod is not admitted, in one plain sentence with its numbers."""

from collections.abc import Mapping

from hostagent.domains.kubelet.placement.masks import Hints
from hostagent.domains.kubelet.placement.model import AFFINITY, SMT, Answer, Model
from hostagent.domains.kubelet.placement.node import GPU_RESOURCE
from hostagent.domains.kubelet.placement.quantity import shown
from hostagent.domains.kubelet.placement.settings import MOST_SEARCHED


def of_admission(model: Model, nodes: tuple[int, ...], *, aligned: bool) -> str:
    """The message for an admitted pod, with a warning where the kubelet would take too long over very many NUMA nodes."""
    where = "on any NUMA nodes"
    if nodes:
        where = f"on NUMA node{'s' if len(nodes) > 1 else ''} {', '.join(map(str, nodes))}"
    text = f"Starts {where}{'' if aligned else ', not aligned by guarantee'}."
    if model.policy.name != "none" and len(model.policy.ids) > MOST_SEARCHED:
        text += f" The kubelet itself tries all sets of {len(model.policy.ids)} NUMA nodes and does not come to an end: use policy none."
    return text


def of_rejection(answer: Answer, model: Model, asked: Mapping[str, int]) -> str:
    """A sentence without its full stop. `asked`: what the pod asks for in total."""
    if answer.reason == AFFINITY:
        return _affinity(answer.hints, model, asked)
    if answer.reason.startswith("OutOf"):
        name, size, used, most = answer.why.rsplit("|", 3)
        return f"{_asked(name, int(size))} and {shown(name, int(most) - int(used))} of {shown(name, int(most))} {_is(name)} left"
    if answer.reason == SMT:
        return answer.why
    return _shortage(model, asked) or answer.why or "the kubelet cannot give what the pod asks for"


def _words(resource: str, size: int) -> str:
    if resource == "cpu":
        return "1 CPU" if size == 1000 else f"{shown(resource, size)} CPUs"
    if resource == GPU_RESOURCE:
        return f"{size} GPUs" if size != 1 else "1 GPU"
    if resource == "memory" or resource.startswith("hugepages-"):
        return f"{shown(resource, size)} of {resource}"
    return f"{size} of {resource}"


def _asked(resource: str, size: int) -> str:
    words = _words(resource, size)
    return f"{words} {'is' if words.startswith('1 ') else _is(resource)} asked for"


def _is(resource: str) -> str:
    return "is" if resource == "memory" or resource.startswith("hugepages-") else "are"


def _affinity(hints: tuple[Hints, ...], model: Model, asked: Mapping[str, int]) -> str:
    short = _shortage(model, asked)
    if short:
        return short
    ids = model.policy.ids
    wide = [one for one in hints if one.width > 1]
    if model.policy.name == "single-numa-node" and wide:
        one = max(wide, key=lambda found: found.width)
        do = "does" if asked.get(one.name) == 1 else "do"
        return f"{_words(one.name, asked.get(one.name, 0))} {do} not fit one NUMA node{_largest(model, one.name)}"
    for one in hints:
        if not _has_preferred(one, ids):
            nodes = "one NUMA node" if one.width == 1 else f"{one.width} NUMA nodes"
            return f"{_words(one.name, asked.get(one.name, 0))} would fit {nodes} of an empty host{_free(model, one.name)}"
    widths = {one.name: one.width for one in hints}
    if len(set(widths.values())) > 1:
        parts = [_fit(_words_at(width, widths, asked), width) for width in dict.fromkeys(widths.values())]
        return f"{' but '.join(parts[:3])}, and {model.policy.name} wants the same nodes for all"
    return f"no NUMA nodes have {' and '.join(_words(name, asked.get(name, 0)) for name in widths)} free at once"


def _words_at(width: int, widths: Mapping[str, int], asked: Mapping[str, int]) -> list[str]:
    return [_words(name, asked.get(name, 0)) for name, wide in widths.items() if wide == width]


def _fit(things: list[str], width: int) -> str:
    is_one = len(things) == 1 and (things[0].startswith("1 ") or " of memory" in things[0] or " of hugepages" in things[0])
    return f"{' and '.join(things)} {'fits' if is_one else 'fit'} {width} NUMA node{'s' if width > 1 else ''}"


def _has_preferred(one: Hints, ids: tuple[int, ...]) -> bool:
    return any(one.fits(1 << number) for number in ids) if one.width == 1 else one.may_fit(ids, one.width)


def _counts(model: Model, resource: str) -> tuple[dict[int, int], dict[int, int]] | None:
    """Total and free CPUs or devices by NUMA node."""
    ids = model.policy.ids
    if resource == "cpu" and model.cpus is not None:
        places = model.cpus.topology.places
        every = {number: sum(1 for cpu in places.values() if cpu.node == number) for number in model.cpus.topology.nodes}
        return every, {number: sum(1 for cpu in model.cpus.available if places[cpu].node == number) for number in every}
    pool = model.pools.get(resource)
    if pool is None:
        return None
    every = {number: sum(1 for mask in pool.masks.values() if mask >> number & 1) for number in ids}
    return every, {number: sum(1 for place in pool.available if pool.masks[place] >> number & 1) for number in ids}


def _largest(model: Model, resource: str) -> str:
    counts = _counts(model, resource)
    if counts is not None:
        return f": the largest has {max(counts[0].values(), default=0)}"
    if model.memory is not None:
        most = max((node.allocatable.get(resource, 0) for node in model.memory.nodes.values()), default=0)
        return f": the largest has {shown(resource, most)}"
    return ""


def _free(model: Model, resource: str) -> str:
    counts = _counts(model, resource)
    if counts is None:
        return ", but other pods hold the memory"
    free = ", ".join(f"{count} on node {number}" for number, count in counts[1].items() if counts[0][number])
    return f", but free are {free}"


def _shortage(model: Model, asked: Mapping[str, int]) -> str:
    """More than is free anywhere."""
    for name, size in asked.items():
        pool = model.pools.get(name)
        if pool is not None and size > len(pool.available):
            bad = len(pool.masks) - len(pool.healthy)
            state = f"{len(pool.available)} of {len(pool.masks)} are free" + (f" and {bad} unhealthy" if bad else "")
            return f"{_asked(name, size)} and {state}"
        if pool is not None and pool.has_topology and size > sum(1 for place in pool.available if pool.masks[place]):
            return f"{_asked(name, size)}, and devices without a NUMA node do not count where others have one"
        if name == "cpu" and model.cpus is not None and size // 1000 > len(model.cpus.available):
            return f"{_asked(name, size)} and {len(model.cpus.available)} are free for containers alone"
    return ""
