"""The two state files of a kubelet, verified on the host: the checksum covers names of pods and containers, which are not recorded.

Layouts: Kubernetes, pkg/kubelet/cm/cpumanager/state and memorymanager/state, checkpoint.go, releases 1.18 to 1.37; the checksum is FNV-1a
of 32 bits over the Go value as go-spew prints it (``%#v``). No I/O.
"""

# Layouts 1, 2 and 3 without pod-level entries are verified; with those (Kubernetes 1.36, 1.37) the checksum is unknown. Layout 4
# (1.37) is read by its version-2 part, which carries the same data. Judges: the sums in the kubelet's own tests, and the two
# files of policy none. Free and reserved bytes of groups of nodes in memory_manager_state are not compared.

import json
from collections.abc import Callable, Mapping
from typing import Any

_CPU = "cpu_manager_state"
#: Bytes of one.
MAX_BYTES = 256 * 1024
#: Entries that one file may have: a kubelet has a few hundred containers.
_MOST = 20_000
_CPU_FIELDS = ("policyName", "defaultCpuSet", "entries", "podEntries", "checksum", "data", "dataChecksum")
_MEMORY_FIELDS = ("policyName", "machineState", "entries", "podEntries", "checksum", "data", "dataChecksum")
_TABLE = (
    ("TotalMemSize", "total"),
    ("SystemReserved", "systemReserved"),
    ("Allocatable", "allocatable"),
    ("Reserved", "reserved"),
    ("Free", "free"),
)


def judged(path: str, data: bytes) -> dict[str, Any]:
    """The verified content of one of the two files, by its name."""
    return parse_cpu_state(data) if path.endswith(f"/{_CPU}") else parse_memory_state(data)


def parse_cpu_state(data: bytes) -> dict[str, Any]:
    """cpu_manager_state: ``error``, ``checksum`` (right, wrong, unknown), ``policy``, ``default_cpus``, ``assigned_cpus``.

    >>> parse_cpu_state(b'{"policyName":"none","defaultCpuSet":"","checksum":7}')["checksum"]
    'wrong'
    """
    return _judged(_cpu, data)


def parse_memory_state(data: bytes) -> dict[str, Any]:
    """memory_manager_state: the first three, ``nodes`` (id, assignments, cells, memory: bytes by resource) and ``blocks`` (nodes, resource,
    size).
    """
    return _judged(_memory, data)


def _judged(read: "Callable[[Mapping[str, Any]], dict[str, Any]]", data: bytes) -> dict[str, Any]:
    try:
        return read(_object(json.loads(data)) or {})
    except json.JSONDecodeError as error:
        return {"error": f"JSONDecodeError: {error}"[:200]}
    except (ValueError, TypeError, RecursionError) as error:  # its words may be those of a pod
        return {"error": f"{type(error).__name__}: a value is of another kind than those of a state file"}


def _fields(document: Mapping[str, Any], names: "tuple[str, ...]") -> dict[str, Any]:
    """As Go's JSON takes keys: in any case, of two the last."""
    lower = {name.lower(): name for name in names}
    return {lower[key.lower()]: value for key, value in document.items() if key.lower() in lower}


def _cpu(document: Mapping[str, Any]) -> dict[str, Any]:
    found = _fields(document, _CPU_FIELDS)
    policy, default = _text(found.get("policyName")), _text(found.get("defaultCpuSet"))
    entries = _object(found.get("entries", {}))
    assigned = [_text(one) for pod in (entries or {}).values() for one in (pod.values() if isinstance(pod, dict) else [pod])]
    _limit(len(assigned) + len(entries or {}))
    return {
        "error": "",
        "checksum": _cpu_checksum(found, policy, default, entries),
        "policy": policy,
        "default_cpus": default,
        "assigned_cpus": sorted(assigned),
    }


def _cpu_checksum(found: Mapping[str, Any], policy: str, default: str, entries: "Mapping[str, Any] | None") -> str:
    checksum = _number(found.get("checksum", 0))
    if not checksum:
        return "right"  # as the file that kubelets wrote before there were checksums
    if found.get("podEntries"):
        return "unknown"
    return "right" if checksum in map(fnv, _cpu_texts(policy, default, entries)) else "wrong"


def cpu_checksum(policy: str, default: str, entries: "Mapping[str, Any]") -> int:
    """The checksum as the kubelet computes it from containers' CPUs by pod.

    >>> cpu_checksum("none", "", {})
    1353318690
    """
    return fnv(_cpu_texts(policy, default, entries)[-2])


def _cpu_texts(policy: str, default: str, entries: "Mapping[str, Any] | None") -> "list[str]":
    """The texts under the checksum, by layout: version 1, 2, and 3 without pod-level entries."""
    flat = entries is not None and all(isinstance(one, str) for one in entries.values())
    nested = entries is None or all(isinstance(one, dict) for one in entries.values())
    head = f"(*state.CPUManagerCheckpoint){{PolicyName:(string){policy} DefaultCPUSet:(string){default} Entries:"
    texts = []
    if flat:
        texts.append(f"{head}(map[string]string){_map(entries, str)} Checksum:(checksum.Checksum)0}}")
    if nested:
        shown = f"{head}(map[string]map[string]string){_map(entries, lambda pod: _map(pod, str))}"
        texts += [
            f"{shown} Checksum:(checksum.Checksum)0}}",
            f"{shown} PodEntries:(state.PodCPUAssignments)map[] Checksum:(checksum.Checksum)0}}",
        ]
    return texts


def _memory(document: Mapping[str, Any]) -> dict[str, Any]:
    found = _fields(document, _MEMORY_FIELDS)
    policy = _text(found.get("policyName"))
    nodes = {int(node): _node(state) for node, state in (_object(found.get("machineState", {})) or {}).items()}
    entries = _object(found.get("entries", {}))
    blocks = _blocks(entries or {})
    flat = [one for inner in blocks.values() for those in inner.values() for one in those]
    _limit(len(flat) + len(nodes) + len(blocks))
    return {
        "error": "",
        "checksum": _memory_checksum(found, policy, nodes, blocks if entries is not None else None),
        "policy": policy,
        "nodes": [{"id": node, **state} for node, state in sorted(nodes.items())],
        "blocks": sorted(flat, key=json.dumps),
    }


def _memory_checksum(found: Mapping[str, Any], policy: str, nodes: "dict[int, Any]", blocks: Any) -> str:
    if found.get("podEntries"):
        return "unknown"
    return "right" if _number(found.get("checksum", 0)) in map(fnv, _memory_texts(policy, nodes, blocks)) else "wrong"


def memory_checksum(policy: str, nodes: "Mapping[str, Any]", entries: "Mapping[str, Any]") -> int:
    """The checksum as the kubelet computes it from the file's content.

    >>> memory_checksum("None", {}, {})
    4236770233
    """
    return fnv(_memory_texts(policy, {int(node): _node(one) for node, one in nodes.items()}, _blocks(entries))[0])


def _memory_texts(policy: str, nodes: "Mapping[int, Any]", blocks: Any) -> "list[str]":
    head = (
        f"(*state.MemoryManagerCheckpoint){{PolicyName:(string){policy} MachineState:(state.NUMANodeMap){_map(nodes, _shown_node)} "
        f"Entries:(state.ContainerMemoryAssignments){_map(blocks, lambda pod: _map(pod, _shown_blocks))}"
    )
    return [
        f"{head} Checksum:(checksum.Checksum)0}}",
        f"{head} PodEntries:(state.PodMemoryAssignments)map[] Checksum:(checksum.Checksum)0}}",
    ]


def _blocks(entries: "Mapping[str, Any]") -> "dict[str, dict[str, list[dict[str, Any]]]]":
    return {
        pod: {name: [_block(one) for one in _list(those)] for name, those in (_object(inner) or {}).items()}
        for pod, inner in entries.items()
    }


def _node(value: Any) -> dict[str, Any]:
    state = _fields(_object(value) or {}, ("numberOfAssignments", "memoryMap", "cells"))
    memory = {
        resource: {key: _number(_fields(_object(table) or {}, tuple(one for _, one in _TABLE)).get(key, 0)) for _, key in _TABLE}
        for resource, table in (_object(state.get("memoryMap", {})) or {}).items()
    }
    return {
        "assignments": _number(state.get("numberOfAssignments", 0)),
        "cells": [_number(one) for one in _list(state.get("cells"))],
        "memory": memory,
    }


def _block(value: Any) -> dict[str, Any]:
    block = _fields(_object(value) or {}, ("numaAffinity", "type", "size"))
    return {
        "nodes": [_number(one) for one in _list(block.get("numaAffinity"))],
        "resource": _text(block.get("type")),
        "size": _number(block.get("size", 0)),
    }


def _shown_node(node: Mapping[str, Any]) -> str:
    tables = _map(node["memory"], lambda one: "<*>{" + " ".join(f"{name}:(uint64){one[key]}" for name, key in _TABLE) + "}")
    return (
        f"<*>{{NumberOfAssignments:(int){node['assignments']} MemoryMap:(map[v1.ResourceName]*state.MemoryTable){tables} "
        f"Cells:([]int){_shown_numbers(node['cells'])}}}"
    )


def _shown_blocks(blocks: "list[Mapping[str, Any]]") -> str:
    return "[" + " ".join(map(_shown_block, blocks)) + "]"


def _shown_block(one: Mapping[str, Any]) -> str:
    return f"{{NUMAAffinity:([]int){_shown_numbers(one['nodes'])} Type:(v1.ResourceName){one['resource']} Size:(uint64){one['size']}}}"


def _shown_numbers(numbers: "list[int]") -> str:
    return "[" + " ".join(map(str, numbers)) + "]"


def _map(table: "Mapping[Any, Any] | None", shown: "Callable[[Any], str]") -> str:
    """Keys in the order of their bytes, or numbers."""
    if table is None:
        return "<nil>"
    keys = sorted(table, key=lambda key: key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key)
    return "map[" + " ".join(f"{key}:{shown(table[key])}" for key in keys) + "]"


def fnv(text: str) -> int:
    """FNV-1a of 32 bits.

    >>> hex(fnv("foobar"))
    '0xbf9cf968'
    """
    number = 0x811C9DC5
    for byte in text.encode("utf-8", "surrogatepass"):
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return number


def _object(value: Any) -> "dict[str, Any] | None":
    if value is not None and not isinstance(value, dict):
        raise TypeError(f"found {type(value).__name__}, wanted an object")
    return value


def _list(value: Any) -> "list[Any]":
    if value is not None and not isinstance(value, list):
        raise TypeError(f"found {type(value).__name__}, wanted a list")
    return value or []


def _text(value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"found {type(value).__name__}, wanted a text")
    return value or ""


def _number(value: Any) -> int:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 1 << 64):
        raise TypeError(f"found {str(value)[:40]}, wanted a number")
    return value or 0


def _limit(count: int) -> None:
    if count > _MOST:
        raise ValueError(f"found {count} entries, wanted at most {_MOST}")
