"""The topology, CPU and memory managers, and what is reserved: whether they start with a configuration on a machine."""

# Measured, and in no document: `reservedMemory: 0.5Gi` in a file with the policy Static is refused ("could not covert": the
# quantity is not held as a whole number) and accepted from a drop-in, where it became 512Mi in between. CPUs that the static
# policy reserves by itself (no reservedSystemCPUs) are not computed, so "not all reserved cpus are present" is known only where
# they are named.

from typing import Any, NamedTuple

from hostagent.core.unread import Unread
from hostagent.domains.kubelet.config.gates import Gates, UnknownNameError
from hostagent.domains.kubelet.config.golang import CpuRanges, parse_cpuset, quoted, truth, whole
from hostagent.domains.kubelet.config.model import Machine
from hostagent.domains.kubelet.config.quantity import ZERO, Quantity, parse_quantity
from hostagent.domains.kubelet.config.schema import Fields
from hostagent.domains.kubelet.config.thresholds import check_percentages, check_thresholds, memory_of, threshold
from hostagent.domains.kubelet.tables.defaults import (
    CPU_OPTIONS,
    CPU_OPTIONS_APART,
    IDS_PER_POD,
    MAX_NUMA_NODES,
    RESERVABLE,
    TOPOLOGY_OPTIONS,
    USER_IDS_SINCE,
    Option,
)

Reserved = dict[str, Quantity]


class Managed(NamedTuple):
    """The managers' input. `reserved_cpus` is None where the kubelet chooses them itself."""

    config: Fields  # with kubeReserved and systemReserved as the kubelet changes them
    reserved_cpus: CpuRanges | None
    strict: bool  # strict-cpu-reservation


def managed(config: Fields, gates: Gates, machine: Machine) -> Managed:
    """Raises ``ValueError`` in the kubelet's words, checked in its order."""
    cpus = _reserved_cpus(config, machine)
    if cpus.size():
        config = _with_cpus_reserved(config, cpus.size())
    kube = _reserved("kube", config.get("kubeReserved"))
    system = _reserved("system", config.get("systemReserved"))
    memory_left = threshold(config.get("evictionHard"), machine)
    check_percentages(config.get("qosReserved"))
    options = config.get("topologyManagerPolicyOptions")
    if options is not None and not gates.enabled("TopologyManagerPolicyOptions"):
        raise ValueError(f'topology manager policy options {_go_map(options)} require feature gates "TopologyManagerPolicyOptions" enabled')
    cpu_options = config.get("cpuManagerPolicyOptions")
    if cpu_options is not None and not gates.enabled("CPUManagerPolicyOptions"):
        raise ValueError(
            f"CPU Manager policy options {_go_map(cpu_options)} require feature gates CPUManager, CPUManagerPolicyOptions enabled"
        )
    _topology_manager(config, gates, machine)
    strict = _cpu_manager(config, gates, machine, kube.get("cpu", ZERO).plus(system.get("cpu", ZERO)))
    if gates.enabled("MemoryManager") or not gates.knows("MemoryManager"):
        _memory_manager(config, kube, system, memory_left, machine)
    check_thresholds(config)
    _check_log_size(config.get("containerLogMaxSize") or "")
    _check_users(config, gates)
    _fits(kube, system, memory_left, machine)
    return Managed(config, cpus if cpus.size() else None, strict)


def _reserved_cpus(config: Fields, machine: Machine) -> CpuRanges:
    wanted = parse_cpuset(config.get("reservedSystemCPUs") or "")
    if wanted.size() and not isinstance(machine.cpus, Unread):
        online = parse_cpuset(machine.cpus)
        if wanted.minus(online).size():
            raise ValueError(f"reserved-cpus: {config['reservedSystemCPUs']} is not a subset of online-cpus: {online}")
    return wanted


def _with_cpus_reserved(config: Fields, size: int) -> Fields:
    """Replaces the CPU quantities by reservedSystemCPUs; a map created here is not in the served configuration."""
    result, kube, system = dict(config), config.get("kubeReserved"), config.get("systemReserved")
    if kube is not None:
        result["kubeReserved"] = {name: value for name, value in kube.items() if name != "cpu"}
    result["systemReserved"] = {**(system or {}), "cpu": str(size)}
    return result


def _reserved(owner: str, pairs: dict[str, str] | None) -> Reserved:
    found = {}
    for name, text in sorted((pairs or {}).items()):
        before = f"--{owner}-reserved value failed to parse: "
        if name not in RESERVABLE:
            raise ValueError(f"{before}cannot reserve {quoted(name)} resource")
        try:
            found[name] = parse_quantity(text)
        except ValueError as error:
            raise ValueError(f"{before}failed to parse quantity {quoted(text)} for {quoted(name)} resource: {error}") from error
        if found[name].mantissa < 0:
            raise ValueError(f"{before}resource quantity for {quoted(name)} cannot be negative: {text}")
    return found


def _check_log_size(text: str) -> None:
    try:
        parse_quantity(text)
    except ValueError as error:
        raise ValueError(
            f"failed to initialize container log manager: failed to parse container log max size {quoted(text)}: {error}"
        ) from error


def _check_users(config: Fields, gates: Gates) -> None:
    """Each pod may have user ids of its own: there are no more than 32 bits of them."""
    each, pods = (config.get("userNamespaces") or {}).get("idsPerPod") or IDS_PER_POD, config.get("maxPods") or 0
    if gates.enabled("UserNamespacesSupport") and gates.minor >= USER_IDS_SINCE and pods > (2**32 - each) // each:
        raise ValueError(f"create user namespace manager: kubelet user assigned IDs are not enough to support {pods} pods")


def _topology_manager(config: Fields, gates: Gates, machine: Machine) -> None:
    if config.get("topologyManagerPolicy") == "none":
        return
    most = MAX_NUMA_NODES
    for name, text in sorted((config.get("topologyManagerPolicyOptions") or {}).items()):
        _available(name, TOPOLOGY_OPTIONS, gates, "Topology Manager Policy", "TopologyManagerPolicy")
        if name != "max-allowable-numa-nodes":
            _flag_of(name, text)
            continue
        number = whole(text)
        if number is None:
            raise ValueError(
                f"unable to convert policy option to integer {quoted(name)}: strconv.Atoi: parsing {quoted(text)}: invalid syntax"
            )
        if number < MAX_NUMA_NODES:
            raise ValueError(f"the minimum value of {quoted(name)} should not be less than {MAX_NUMA_NODES}")
        most = number
    if not isinstance(machine.nodes, Unread) and len(machine.nodes) > most:
        raise ValueError(f"unsupported on machines with more than {most} NUMA Nodes")


def _available(name: str, options: tuple[Option, ...], gates: Gates, label: str, gate: str) -> None:
    option = next((each for each in options if each.name == name), None)
    if option is None or option.alpha > gates.minor:
        raise UnknownNameError(f"unknown {label} option: {quoted(name)}")
    if option.stable and option.stable <= gates.minor:
        return
    level = "Beta" if option.beta and option.beta <= gates.minor else "Alpha"
    if not gates.enabled(f"{gate}{level}Options"):
        raise ValueError(f"{label} {level}-level Options not enabled, but option {quoted(name)} provided")


def _flag_of(name: str, text: str) -> bool:
    try:
        return truth(text)
    except ValueError as error:
        raise ValueError(f"bad value for option {quoted(name)}: {error}") from error


def _cpu_manager(config: Fields, gates: Gates, machine: Machine, reserved: Quantity) -> bool:
    policy, options = config.get("cpuManagerPolicy"), config.get("cpuManagerPolicyOptions") or {}
    if policy == "none":
        if options:
            raise ValueError(f"new none policy error: None policy: received unsupported options={_go_map(options)}")
        return False
    if policy != "static":
        raise UnknownNameError(f"unknown policy: {quoted(policy or '')}")
    if reserved.mantissa == 0:
        raise ValueError("[cpumanager] unable to determine reserved CPU resources for static policy")
    before, on = "new static policy error: ", {}
    try:
        for name, text in sorted(options.items()):
            _available(name, CPU_OPTIONS, gates, "CPU Manager Policy", "CPUManagerPolicy")
            on[name] = _flag_of(name, text)
    except ValueError as error:
        raise type(error)(f"{before}{error}") from error
    for one, other in CPU_OPTIONS_APART:
        if on.get(one) and on.get(other):
            raise ValueError(f"{before}static policy options {one} and {other} can not be used at the same time")
    if on.get("align-by-socket") and config.get("topologyManagerPolicy") == "single-numa-node":
        raise ValueError(f"{before}Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option")
    if not isinstance(machine.cpus, Unread) and not config.get("reservedSystemCPUs"):
        count = -(-reserved.scaled(3) // 1000)
        if count > parse_cpuset(machine.cpus).size():
            raise ValueError(f"{before}[cpumanager] unable to reserve the required amount of CPUs (size of  did not equal {count})")
    return on.get("strict-cpu-reservation", False)


def _memory_manager(config: Fields, kube: Reserved, system: Reserved, left: Quantity | None, machine: Machine) -> None:
    policy = config.get("memoryManagerPolicy")
    if policy == "None":
        return
    if policy != "Static":
        if policy == "BestEffort":
            raise ValueError('policy "BestEffort" is not available for platform "linux"')
        raise UnknownNameError(f"unknown policy: {quoted(policy or '')}")
    totals: Reserved = {}
    for row in config.get("reservedMemory") or []:
        node = row.get("numaNode") or 0
        if not isinstance(machine.nodes, Unread) and node not in {each.id for each in machine.nodes}:
            raise ValueError(f"the reserved memory configuration references a NUMA node {node} that does not exist on this machine")
        for name, quantity in (row.get("limits") or {}).items():
            totals[name] = totals.get(name, ZERO).plus(quantity)
    for name in sorted({*totals, "memory"}):
        if name == "memory" and left is None:
            continue
        wanted = kube.get("memory", ZERO).plus(system.get("memory", ZERO)).plus(left or ZERO) if name == "memory" else ZERO
        found = totals.get(name, ZERO)
        if wanted.scaled(9) != found.scaled(9):
            raise ValueError(
                f"the total amount {quoted(str(found))} of type {quoted(name)} is not equal to the value {quoted(str(wanted))} "
                "determined by Node Allocatable feature"
            )
    if not all(quantity.is_whole() for row in config.get("reservedMemory") or [] for quantity in (row.get("limits") or {}).values()):
        raise ValueError("could not covert a variable of type Quantity to int64")
    if totals.get("memory", ZERO).mantissa <= 0:
        raise ValueError("[memorymanager] you should specify the system reserved memory")


def _fits(kube: Reserved, system: Reserved, left: Quantity | None, machine: Machine) -> None:
    """No more is reserved than there is."""
    have: dict[str, int] = {}
    if not isinstance(machine.cpus, Unread):
        have["cpu"] = parse_cpuset(machine.cpus).size()
    if (memory := memory_of(machine)) is not None:
        have["memory"] = memory
    for name, total in have.items():
        reserved = kube.get(name, ZERO).plus(system.get(name, ZERO)).plus((left or ZERO) if name == "memory" else ZERO)
        if reserved.scaled(9) > total * 10**9:
            raise ValueError(
                f"invalid Node Allocatable configuration. Resource {quoted(name)} has a reservation of {reserved} but capacity of "
                f"{total}. Expected capacity >= reservation."
            )


def _go_map(pairs: dict[str, Any]) -> str:
    return f"map[{' '.join(f'{name}:{value}' for name, value in sorted(pairs.items()))}]"
