"""The two state files of a kubelet, as a source answers them: without pods and containers."""

from typing import Any, NamedTuple

from hostagent.core.unread import Unread

_MEMORY_KEYS = ("total", "systemReserved", "allocatable", "reserved", "free")


class StateMemory(NamedTuple):
    """One memory type of a NUMA node, bytes."""

    resource: str  # memory, hugepages-1Gi
    total: int
    system_reserved: int
    allocatable: int
    reserved: int
    free: int


class StateNode(NamedTuple):
    """One NUMA node of memory_manager_state."""

    id: int
    assignments: int
    cells: tuple[int, ...]  # it and those that share an assignment with it
    memory: tuple[StateMemory, ...]


class StateBlock(NamedTuple):
    """The memory of one container."""

    nodes: tuple[int, ...]
    resource: str
    size: int  # bytes


class StateFile(NamedTuple):
    """cpu_manager_state or memory_manager_state; what the other one has is empty."""

    error: str  # why it does not decode, "" otherwise
    checksum: str  # right, wrong; unknown: of a layout with pod-level entries
    policy: str
    default_cpus: str  # as it is written
    assigned_cpus: tuple[str, ...]  # each container's, as it is written
    nodes: tuple[StateNode, ...]
    blocks: tuple[StateBlock, ...]


class StateFiles(NamedTuple):
    """The two of one kubelet; absent where there is none."""

    cpu: StateFile | Unread
    memory: StateFile | Unread


def state_file(answer: "dict[str, Any]") -> StateFile:
    """Raises ``TypeError``, ``ValueError``, ``KeyError`` or ``AttributeError`` for what is no such answer."""
    if answer["error"]:
        return StateFile(str(answer["error"]), "unknown", "", "", (), (), ())
    nodes = (
        StateNode(
            _number(one["id"]), _number(one["assignments"]), tuple(map(_number, one["cells"])), tuple(_memory(one["memory"]))
        )
        for one in answer.get("nodes", [])
    )  # fmt: skip
    blocks = (StateBlock(tuple(map(_number, one["nodes"])), str(one["resource"]), _number(one["size"])) for one in answer.get("blocks", []))
    return StateFile(
        "",
        str(answer["checksum"]),
        str(answer["policy"]),
        str(answer.get("default_cpus", "")),
        tuple(map(str, answer.get("assigned_cpus", []))),
        tuple(nodes),
        tuple(blocks),
    )


def _memory(table: "dict[str, dict[str, int]]") -> "list[StateMemory]":
    return [StateMemory(str(resource), *(_number(those[key]) for key in _MEMORY_KEYS)) for resource, those in sorted(table.items())]


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r:.40}")
    return value
