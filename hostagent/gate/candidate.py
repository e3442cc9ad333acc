"""One node as the gate sees it: the values of its summary that jobs depend on, each checked for its type and nothing else."""

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from hostagent.facts.unread import Unread

if TYPE_CHECKING:
    from hostagent.gate.answer import Reason

_WHYS = frozenset({"absent", "not-supported", "not-running", "denied", "timeout", "error", "not-recorded"})
_MISSING = Unread("not-recorded", "it is missing")
_WRONG = Unread("error", "it has a type that it cannot have")
_KNOWN = {why: Unread(why) for why in sorted(_WHYS)}  # type: ignore[arg-type]
_NOTHING: Mapping[str, Any] = {}


class Candidate:
    """A node that a job may be placed on. What could not be read is `Unread`; a time that is no finite number is None."""

    __slots__ = (
        "boot_id",
        "compute_capability",
        "coverage",
        "cuda",
        "devices",
        "domain",
        "driver",
        "env",
        "fabric_class",
        "gpu_count",
        "host_class",
        "inputs",
        "kubelet",
        "memory_gib",
        "mig",
        "multi_node",
        "node",
        "numa_gpus",
        "observed_at",
        "own_reasons",
        "policy",
        "product",
        "single_node",
        "source",
        "toolkit",
        "valid_until",
    )

    node: str
    #: The file that it was read from, "" for none.
    source: str
    boot_id: str
    observed_at: float | None
    valid_until: float | None
    single_node: str | Unread
    multi_node: str | Unread
    coverage: str | Unread
    gpu_count: int | Unread
    product: str | Unread
    memory_gib: float | Unread
    compute_capability: str | Unread
    mig: bool | Unread
    driver: str | Unread
    cuda: str | Unread
    toolkit: str | Unread
    fabric_class: str | Unread
    host_class: str | Unread
    domain: str | Unread
    inputs: dict[str, str | Unread] | Unread
    env: dict[str, str] | Unread
    #: None where the summary has a kubelet.
    kubelet: Unread | None
    policy: str | Unread
    #: Whether the kubelet knows the GPUs' NUMA nodes: plain, dra, or numa for everything else.
    devices: str
    #: The GPUs of each NUMA node, None where that is not known.
    numa_gpus: tuple[int | None, ...] | Unread
    #: Why the backend itself refuses the node.
    own_reasons: "tuple[Reason, ...]"

    def __repr__(self) -> str:
        return f"Candidate({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


def parse_candidate(summary: Mapping[str, Any], source: str = "") -> Candidate:
    """A candidate from a summary that has a `node`; a value of a type that it cannot have is unread."""
    one = Candidate()
    get = summary.get
    one.node = str(summary["node"])
    one.source = source
    boot_id = get("boot_id")
    one.boot_id = boot_id if type(boot_id) is str else ""
    one.observed_at, one.valid_until = _time(get("observed_at")), _time(get("valid_until"))
    verdict = _mapping(get("verdict"))
    one.single_node, one.multi_node = _text(verdict.get("single_node")), _text(verdict.get("multi_node"))
    one.coverage = _text(get("coverage"))
    one.driver, one.cuda, one.toolkit = _text(get("driver")), _text(get("cuda")), _text(get("toolkit"))
    _put_gpus(one, get("gpus"))
    _put_fabric(one, get("fabric"))
    one.env = _env(_mapping(get("nccl")).get("env"))
    _put_kubelet(one, get("kubelet"))
    one.own_reasons = ()
    return one


def _put_gpus(one: Candidate, found: Any) -> None:
    gpus = _mapping(found)
    count, memory, mig = gpus.get("count"), gpus.get("memory_gib"), gpus.get("mig")
    one.gpu_count = count if type(count) is int and count >= 0 else _unread(count)
    amount = _time(memory)
    one.memory_gib = _unread(memory) if amount is None or amount < 0 else amount
    one.mig = mig if type(mig) is bool else _unread(mig)
    one.product, one.compute_capability = _text(gpus.get("product")), _text(gpus.get("compute_capability"))


def _put_fabric(one: Candidate, found: Any) -> None:
    fabric = _mapping(found)
    get = fabric.get
    one.fabric_class, one.host_class, one.domain = _text(get("class")), _text(get("host_class")), _text(get("domain"))
    one.inputs = _inputs(get("inputs"))


def _inputs(found: Any) -> "dict[str, str | Unread] | Unread":
    if type(found) is not dict or "unread" in found:
        return _unread(found)
    for value in found.values():
        if type(value) is not str:
            return {str(name): each if type(each) is str else _unread(each) for name, each in found.items()}
    return found  # nearly always: no copy of it is made


def _put_kubelet(one: Candidate, found: Any) -> None:
    one.kubelet = None if type(found) is dict and "unread" not in found else _unread(found)
    kubelet = _mapping(found)
    one.policy = _text(kubelet.get("policy"))
    devices, numa = kubelet.get("devices"), kubelet.get("numa")
    one.devices = devices if devices in ("plain", "dra") else "numa"
    one.numa_gpus = tuple(_gpus_of(entry) for entry in numa) if type(numa) is list else _unread(numa)


def _gpus_of(entry: Any) -> int | None:
    count = entry.get("gpus") if type(entry) is dict else None
    return count if type(count) is int and count >= 0 else None


def _env(found: Any) -> "dict[str, str] | Unread":
    """Settings of NCCL: a name or a value that no environment can have makes all of them unread."""
    if type(found) is not dict or "unread" in found:
        return _unread(found)
    for name, value in found.items():
        if type(name) is not str or type(value) is not str or not value.isprintable() or not (name.isascii() and name.isidentifier()):
            return _WRONG
    return found


def _mapping(found: Any) -> Mapping[str, Any]:
    """An object of the document; of everything else nothing, so that each value below is unread for the reason that it gives."""
    if type(found) is dict:
        return _Unreadable(found) if "unread" in found else found
    return _NOTHING


class _Unreadable(dict[str, Any]):
    """An unread part: each value below it is unread for the same reason."""

    def get(self, key: str, default: Any = None) -> Any:
        return {"unread": self["unread"]}


def _text(found: Any) -> "str | Unread":
    return found if type(found) is str and found else _unread(found)


def _time(found: Any) -> float | None:
    """A finite number; true and false are none, nor is an integer that no float can hold."""
    if type(found) is float:
        return found if isfinite(found) else None
    if type(found) is int:
        try:
            return float(found)
        except OverflowError:
            return None
    return None


def _unread(found: Any) -> Unread:
    """Why there is no value of the wanted type."""
    if found is None:
        return _MISSING
    why = found.get("unread") if type(found) is dict else None
    return _KNOWN.get(why, _WRONG) if type(why) is str else _WRONG
