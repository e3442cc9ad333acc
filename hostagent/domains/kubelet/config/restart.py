"""State files that a kubelet rejects at its start, because they no longer fit its configuration or the machine."""

from hostagent.core.unread import Unread, need
from hostagent.domains.kubelet.config.golang import CpuRanges, parse_cpuset, quoted
from hostagent.domains.kubelet.config.managers import Managed
from hostagent.domains.kubelet.config.model import Machine, MachineNode
from hostagent.domains.kubelet.config.quantity import Quantity
from hostagent.domains.kubelet.config.states import StateBlock, StateFile, StateNode

CPU_FILE = "cpu_manager_state"
MEMORY_FILE = "memory_manager_state"
_CORRUPT = "checkpoint is corrupted"


def refused(managed: Managed, machine: Machine, *, memory_manager: bool) -> "list[tuple[str, str]] | Unread":
    """Pairs of file and the kubelet's error; ``Unread`` where a file could not be read."""
    found = []
    for name, state, judge in ((CPU_FILE, machine.cpu_state, _cpu), (MEMORY_FILE, machine.memory_state, _memory)):
        if isinstance(state, Unread):
            if state.why not in {"absent", "not-running"}:
                return state
            continue
        if name == MEMORY_FILE and not memory_manager:
            continue
        error = judge(state, managed, machine)
        if error:
            found.append((name, error))
    return found


def _restored(state: StateFile, policy: str, before: str, manager: str) -> str:
    error = state.error or (_CORRUPT if state.checksum == "wrong" else "")
    if not error and state.policy != policy:
        error = f"{before}configured policy {quoted(policy)} differs from state checkpoint policy {quoted(state.policy)}"
    return (
        f"could not restore state from checkpoint: {error}, please drain this node and delete the {manager} checkpoint file"
        if error
        else ""
    )


def _cpu(state: StateFile, managed: Managed, machine: Machine) -> str:
    policy = managed.config.get("cpuManagerPolicy") or ""
    error = _restored(state, policy, "", "CPU manager")
    if error:
        return error
    before = "could not restore state from checkpoint: "
    try:
        shared = parse_cpuset(state.default_cpus)
    except ValueError as problem:
        return f"{before}could not parse default cpu set {quoted(state.default_cpus)}: {problem}"
    own: list[CpuRanges] = []
    for text in state.assigned_cpus:
        try:
            own.append(parse_cpuset(text))
        except ValueError as problem:
            return f"{before}could not parse cpuset {quoted(text)}: {problem}"
    return _static(shared, CpuRanges(()).union(*own), managed, machine) if policy == "static" else ""


def _static(shared: CpuRanges, taken: CpuRanges, managed: Managed, machine: Machine) -> str:
    if not shared.ranges:
        return "default cpuset cannot be empty" if taken.ranges else ""
    reserved = managed.reserved_cpus
    if reserved is not None:
        inside = reserved.common(shared)
        if managed.strict and inside.ranges:
            return f"some of strictly reserved cpus: {quoted(str(inside))} are present in defaultCpuSet: {quoted(str(shared))}"
        if not managed.strict and inside != reserved:
            return f"not all reserved cpus: {quoted(str(reserved))} are present in defaultCpuSet: {quoted(str(shared))}"
    if (overlaps := taken.common(shared)).ranges:
        return f"cpuset {quoted(str(overlaps))} overlaps with default cpuset {quoted(str(shared))}"
    if isinstance(machine.cpus, Unread) or (managed.strict and reserved is None):
        return ""
    online, known = parse_cpuset(machine.cpus), shared.union(taken)
    if managed.strict and reserved is not None:
        online = online.minus(reserved)
    if known != online:
        return f"current set of available CPUs {quoted(str(online))} doesn't match with CPUs in state {quoted(str(known))}"
    return ""


def _memory(state: StateFile, managed: Managed, machine: Machine) -> str:
    policy = managed.config.get("memoryManagerPolicy") or ""
    error = _restored(state, policy, "[memorymanager] ", "memory manager")
    if error or policy != "Static":
        return error
    if not state.nodes:
        return "[memorymanager] machine state can not be empty when it has memory assignments" if state.blocks else ""
    if isinstance(machine.nodes, Unread):
        return ""
    nodes = {node.id: node for node in machine.nodes}
    for block in state.blocks:
        if any(node not in nodes for node in block.nodes):
            return "[memorymanager] the memory assignment uses the NUMA that does not exist"
    if len(nodes) != len(state.nodes) or any(_differs(node, nodes, state.blocks, managed) for node in state.nodes):
        return "[memorymanager] the expected machine state is different from the real one"
    return ""


def _differs(node: StateNode, nodes: dict[int, MachineNode], blocks: tuple[StateBlock, ...], managed: Managed) -> bool:
    """Whether the kubelet would have written another node: its assignments, its group, or what its memory adds up to."""
    real = nodes.get(node.id)
    if real is None:
        return True
    cells: tuple[int, ...] = (node.id,)
    assignments = 0
    for block in blocks:
        if node.id in block.nodes:
            cells, assignments = block.nodes, assignments + 1
    if assignments != node.assignments or (assignments == 0 and set(cells) != set(node.cells)):
        return True
    if isinstance(real.memory_bytes, Unread) or isinstance(real.hugepages, Unread):
        return False
    written = {one.resource: (one.total, one.system_reserved, one.allocatable) for one in node.memory}
    return written != _tables(real, managed)


def _tables(real: MachineNode, managed: Managed) -> dict[str, tuple[int, int, int]]:
    """By resource: in total, reserved, allocatable."""
    reserved: dict[str, int] = {}
    for row in managed.config.get("reservedMemory") or []:
        if (row.get("numaNode") or 0) == real.id:
            reserved.update({name: quantity.scaled(0) for name, quantity in (row.get("limits") or {}).items()})
    found, huge = {}, 0
    for size, pages in need(real.hugepages):
        name, total = f"hugepages-{Quantity(size, 0, 'binary')}", size * pages
        found[name] = (total, reserved.get(name, 0), (total - reserved.get(name, 0)) % 2**64)
        huge += total
    total, own = need(real.memory_bytes), reserved.get("memory", 0)
    return {**found, "memory": (total, own, (total - own - huge) % 2**64)}
