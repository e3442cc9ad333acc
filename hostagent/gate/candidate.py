"""One candidate node of the gate: the values of its summary that jobs depend on, each checked for its type only."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from hostagent.core.typed import finite
from hostagent.core.unread import Unread, Why

if TYPE_CHECKING:
    from hostagent.gate.answer import Reason

_MISSING = Unread("not-recorded", "it is missing")
_WRONG = Unread("error", "it has a type that it cannot have")
_KNOWN: Mapping[str, Unread] = {why: Unread(why) for why in get_args(Why)}
_NOTHING: Mapping[str, Any] = {}
_NCCL = re.compile(r"NCCL_[A-Z0-9_]+")
#: Of verdicts; any other one, and none, is as bad as unknown.
_BADNESS: Mapping[str, int] = {"ready": 0, "degraded": 1, "unknown": 2, "not_ready": 3}
_UNKNOWN = _BADNESS["unknown"]


@dataclass(slots=True, eq=False)
class Candidate:
    """A node that a job may be placed on. What could not be read is `Unread`; a time that is no finite number is None."""

    node: str
    #: The file that it was read from, "" for none.
    source: str = ""
    boot_id: str = ""
    observed_at: float | None = None
    valid_until: float | None = None
    single_node: str | Unread = _MISSING
    multi_node: str | Unread = _MISSING
    coverage: str | Unread = _MISSING
    gpu_count: int | Unread = _MISSING
    product: str | Unread = _MISSING
    memory_gib: float | Unread = _MISSING
    compute_capability: str | Unread = _MISSING
    mig: bool | Unread = _MISSING
    driver: str | Unread = _MISSING
    cuda: str | Unread = _MISSING
    toolkit: str | Unread = _MISSING
    fabric_class: str | Unread = _MISSING
    host_class: str | Unread = _MISSING
    domain: str | Unread = _MISSING
    inputs: dict[str, str | Unread] | Unread = _MISSING
    env: dict[str, str] | Unread = _MISSING
    #: None where the summary has a kubelet.
    kubelet: Unread | None = _MISSING
    policy: str | Unread = _MISSING
    #: Whether the kubelet knows the GPUs' NUMA nodes: plain, dra, or numa for everything else.
    devices: str = "numa"
    #: The GPUs of each NUMA node, None where that is not known.
    numa_gpus: tuple[int | None, ...] | Unread = _MISSING
    #: Why the backend itself refuses the node.
    own_reasons: "tuple[Reason, ...]" = ()
    #: GPUs that no job uses; None where that was not asked.
    free_gpus: int | None = None
    #: The cluster's message on the verdicts; "" for none.
    single_why: str = ""
    multi_why: str = ""
    #: False: the backend knows the node, and has no summary of it.
    has_summary: bool = True
    #: What the two times are of.
    clock: Literal["summary", "heartbeat"] = "summary"
    #: Of the node in the cluster, those that the gate uses; None where they are not known.
    labels: "Mapping[str, str] | None" = None


def parse_candidate(summary: Mapping[str, Any], source: str = "") -> Candidate:
    """A candidate from a summary that has a `node`; a value of a type that it cannot have is unread."""
    get = summary.get
    boot_id, kubelet = get("boot_id"), get("kubelet")
    of_verdict, of_gpus = _mapping(get("verdict")).get, _mapping(get("gpus")).get
    of_fabric, of_kubelet = _mapping(get("fabric")).get, _mapping(kubelet).get
    devices, mig = of_kubelet("devices"), of_gpus("mig")
    return Candidate(
        node=str(summary["node"]),
        source=source,
        boot_id=boot_id if type(boot_id) is str else "",
        observed_at=finite(get("observed_at")),
        valid_until=finite(get("valid_until")),
        single_node=_text(of_verdict("single_node")),
        multi_node=_text(of_verdict("multi_node")),
        coverage=_text(get("coverage")),
        gpu_count=_count(of_gpus("count")),
        product=_text(of_gpus("product")),
        memory_gib=_amount(of_gpus("memory_gib")),
        compute_capability=_text(of_gpus("compute_capability")),
        mig=mig if type(mig) is bool else _unread(mig),
        driver=_text(get("driver")),
        cuda=_text(get("cuda")),
        toolkit=_text(get("toolkit")),
        fabric_class=_text(of_fabric("class")),
        host_class=_text(of_fabric("host_class")),
        domain=_text(of_fabric("domain")),
        inputs=_inputs(of_fabric("inputs")),
        env=_env(_mapping(get("nccl")).get("env")),
        kubelet=None if type(kubelet) is dict and "unread" not in kubelet else _unread(kubelet),
        policy=_text(of_kubelet("policy")),
        devices=devices if devices in ("plain", "dra") else "numa",
        numa_gpus=_numa(of_kubelet("numa")),
    )


def rank(observed_at: float | None, single_node: "str | Unread", multi_node: "str | Unread") -> tuple[float, int, int]:
    """Of several summaries of a node the one with the greatest rank counts: the latest; of one time the worse one, first for jobs of one
    node, then for jobs on several.

    >>> rank(2.0, "ready", "ready") > rank(1.0, "not_ready", "ready"), rank(1.0, "ready", "not_ready") > rank(1.0, "ready", "ready")
    (True, True)
    """
    return float("-inf") if observed_at is None else observed_at, badness(single_node), badness(multi_node)


def badness(verdict: "str | Unread") -> int:
    return _UNKNOWN if isinstance(verdict, Unread) else _BADNESS.get(verdict, _UNKNOWN)


def _count(found: Any) -> int | Unread:
    return found if type(found) is int and found >= 0 else _unread(found)


def _amount(found: Any) -> float | Unread:
    amount = finite(found)
    return _unread(found) if amount is None or amount < 0 else amount


def _inputs(found: Any) -> "dict[str, str | Unread] | Unread":
    if type(found) is not dict or "unread" in found:
        return _unread(found)
    for value in found.values():
        if type(value) is not str:
            return {str(name): each if type(each) is str else _unread(each) for name, each in found.items()}
    return found  # nearly always: no copy of it is made


def _numa(found: Any) -> "tuple[int | None, ...] | Unread":
    return tuple(_gpus_of(entry) for entry in found) if type(found) is list else _unread(found)


def _gpus_of(entry: Any) -> int | None:
    count = entry.get("gpus") if type(entry) is dict else None
    return count if type(count) is int and count >= 0 else None


def _env(found: Any) -> "dict[str, str] | Unread":
    """Settings of NCCL: a name that is none of its variables, or a value that no environment can have, makes all of them unread."""
    if type(found) is not dict or "unread" in found:
        return _unread(found)
    for name, value in found.items():
        if type(name) is not str or type(value) is not str or not value.isprintable() or not _NCCL.fullmatch(name):
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


def _unread(found: Any) -> Unread:
    """The reason for a value of the wrong type."""
    if found is None:
        return _MISSING
    why = found.get("unread") if type(found) is dict else None
    return _KNOWN.get(why, _WRONG) if type(why) is str else _WRONG
