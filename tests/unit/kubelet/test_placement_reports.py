"""A node out of a report's JSON gives the answers that it gives out of facts."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.typed import plain
from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.kubelet.placement import capacity, emptied, node_of, node_of_report, parse_shape, place
from hostagent.facts.gpu import Gpu
from hostagent.facts.kubelet import Device, Kubelet, KubeletConfig, KubeletState, MemoryBlock, ReservedMemory
from hostagent.facts.topology import CpuPackage, Hugepages, Nic, NumaNode, Topology

GI = 1 << 30
LACKING = Unread("not-recorded", "not asked")


def empty(kind, **values):
    return kind(**dict.fromkeys(kind.__dataclass_fields__, LACKING) | values)


TOPOLOGY = empty(
    Topology,
    numa_nodes=tuple(
        NumaNode(
            number, f"{16 * number}-{16 * number + 15}", 64 * GI, (10, 21) if number == 0 else (21, 10), (Hugepages(2 << 20, 512, 512),)
        )
        for number in (0, 1)
    ),
    packages=(CpuPackage(0, "0-15"), CpuPackage(1, "16-31")),
    cores=tuple(f"{cpu},{cpu + 1}" for cpu in range(0, 32, 2)),
)
CONFIG = empty(
    KubeletConfig,
    topology_manager_policy="restricted", topology_manager_scope="pod", topology_manager_policy_options=(("prefer-closest-numa-nodes", "true"),),
    cpu_manager_policy="static", cpu_manager_policy_options=(("full-pcpus-only", "true"),), reserved_system_cpus="0,16",
    memory_manager_policy="Static", reserved_memory=(ReservedMemory(0, (("memory", "1124Mi"),)),), kube_reserved=(("memory", "1Gi"),), system_reserved=(),
    eviction_hard=(("memory.available", "100Mi"),), max_pods=110, pods_per_core=0,
)  # fmt: skip
GPUS = tuple(
    empty(
        Gpu,
        pci=f"0000:{bus:02x}:00.0",
        on_pci=True,
        vga=False,
        bound_to="vfio-pci" if bus == 9 else "nvidia",
        numa_node=int(bus > 4),
        uuid=f"GPU-{bus}",
    )
    for bus in range(1, 10)
)
NICS = tuple(empty(Nic, pci=f"0000:a{number}:00.0", numa_node=number) for number in (0, 1))
BLOCKS = (MemoryBlock(0, "memory", 62 * GI, 60 * GI, (0,)), MemoryBlock(1, "memory", 63 * GI, 63 * GI))
HELD = tuple(Device("nvidia.com/gpu", f"GPU-{bus}", Unread("absent", "podresources was not asked"), True, bus == 1) for bus in range(1, 9))
STATES = {
    "podresources": KubeletState(tuple(dataclasses.replace(one, nodes=(int(place > 3),)) for place, one in enumerate(HELD)), "podresources", "static", "0-9,16-31", "10-15", "Static", BLOCKS),
    "checkpoint": KubeletState(HELD, "checkpoint", "", "", "", "", ()),
    "nothing": KubeletState((), "", "", "", "", "", ()),
    "dra": KubeletState((), "", "", "", "", "", (), True),
    "dra unread": KubeletState((), "", "", "", "", "", (), Unread("denied", "open")),
    "unread": Unread("denied", "open"),
    "absent": Unread("absent", "no file"),
}  # fmt: skip
SHAPES = ("gpus=1", "gpus=4,cpus=8,memory=4Gi", "gpus=0", "gpus=2,cpus=7,memory=1Gi", "cpus=20,memory=70Gi,hugepages-2Mi=1Gi", "nics=1")


def camel(name):
    first, *others = name.split("_")
    return first + "".join("CPUs" if word == "cpus" else word.title() for word in others)


def report(topology, gpus, kubelet, nics):
    """As the report writes them: maps as objects, the kubelet's fields by their own names."""
    config = {camel(name): plain(getattr(kubelet.config, name)) for name in KubeletConfig.__dataclass_fields__}
    for name, value in config.items():
        if isinstance(value, list) and name != "reservedMemory" and all(isinstance(one, list) for one in value):
            config[name] = dict(value)
    if isinstance(kubelet.config.reserved_memory, tuple):
        config["reservedMemory"] = [{"numaNode": row.numa_node, "limits": dict(row.limits)} for row in kubelet.config.reserved_memory]
    shown = {key: plain(getattr(topology, key)) for key in ("numa_nodes", "packages", "cores")}
    shown |= {"gpus": [{key: plain(getattr(gpu, key)) for key in ("pci", "numa_node", "uuid", "vga", "bound_to")} for gpu in gpus]}
    shown |= {"nics": [{key: plain(getattr(nic, key)) for key in ("pci", "numa_node")} for nic in nics]}
    told = {"state": plain(kubelet.state), "error": plain(kubelet.error), "config": config, "given": plain(kubelet.given)}
    return json.loads(json.dumps({"facts": {"topology": shown, "kubelet": told}}))


def kubelet(given, **values):
    return empty(Kubelet, **{"state": "accepted", "error": "", "config": CONFIG, "given": given} | values)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("policy", ["restricted", "best-effort", "none"])
def test_a_report_gives_the_answers_that_facts_give(name, policy):
    config = dataclasses.replace(CONFIG, topology_manager_policy=policy)
    facts = (TOPOLOGY, GPUS, kubelet(STATES[name], config=config), NICS)
    node, told = node_of(*facts), node_of_report(report(*facts))
    assert told.devices == node.devices
    assert told.numa == node.numa
    pods = tuple(parse_shape(shape) for shape in SHAPES)
    for one, other in zip(place(node, pods), place(told, pods), strict=True):
        assert repr(one) == repr(other)
    assert repr(capacity(node)) == repr(capacity(told))


def test_the_topology_commands_own_json_is_read_too():
    data = report(TOPOLOGY, GPUS, kubelet(STATES["podresources"]), NICS)
    flat = data["facts"]["topology"] | {"schema_version": "1", "facts": {"kubelet": data["facts"]["kubelet"]}}
    assert node_of_report(flat).devices == node_of_report(data).devices
    assert node_of_report(data["facts"]["topology"] | {"kubelet": data["facts"]["kubelet"]}).numa == node_of_report(data).numa


def test_devices_by_the_kubelet_then_by_the_checkpoint_then_by_pci():
    by = {name: node_of(TOPOLOGY, GPUS, kubelet(state)) for name, state in STATES.items()}
    assert {name: node.devices_from for name, node in by.items()} == {
        "podresources": "podresources", "checkpoint": "checkpoint", "nothing": "pci", "dra": "podresources", "dra unread": "", "unread": "", "absent": "pci",
    }  # fmt: skip
    assert [one.nodes for one in by["checkpoint"].devices] == [(0,)] * 4 + [(1,)] * 4
    assert [one.id for one in by["nothing"].devices] == [f"0000:0{bus}:00.0" for bus in range(1, 9)]
    assert isinstance(by["unread"].devices, Unread)
    assert isinstance(by["dra unread"].devices, Unread)
    assert by["dra"].devices == ()
    assert sum(one.allocated for one in emptied(by["podresources"]).devices) == 0


def test_gpus_that_were_not_read_are_not_none():
    data = report(TOPOLOGY, GPUS, kubelet(STATES["nothing"]), NICS)
    data["facts"]["topology"]["gpus"] = {"unread": "denied", "detail": "listdir"}
    with pytest.raises(UnreadError, match="denied: listdir"):
        node_of_report(data)


def test_a_host_without_a_kubelet_has_numbers_and_no_answer():
    node = node_of(TOPOLOGY, GPUS, Unread("absent", "no kubelet is in use"), NICS)
    data = report(TOPOLOGY, GPUS, kubelet(STATES["nothing"]), NICS)
    data["facts"]["kubelet"] = {"unread": "absent", "detail": "no kubelet is in use"}
    assert repr(node_of_report(data)) == repr(node)
    assert capacity(node)["gpus_per_numa"] == {0: 4, 1: 4}
    assert isinstance(place(node, (parse_shape("gpus=1"),))[0].admitted, Unread)
    with pytest.raises(UnreadError):
        node_of(TOPOLOGY, GPUS, Unread("denied", "open"), NICS)


@pytest.mark.parametrize("field", ["on_pci", "bound_to", "vga"])
def test_a_gpu_of_which_it_is_not_known_whether_it_counts(field):
    gpus = (dataclasses.replace(GPUS[0], **{field: Unread("denied", "open")}), *GPUS[1:])
    assert isinstance(node_of(TOPOLOGY, gpus, kubelet(STATES["nothing"])).devices, Unread)


def test_a_display_card_and_one_of_a_virtual_machine_do_not_count():
    gpus = (dataclasses.replace(GPUS[0], vga=True, bound_to=""), GPUS[8])
    assert node_of(TOPOLOGY, gpus, kubelet(STATES["nothing"])).devices == ()


@pytest.mark.parametrize("data", [{}, {"facts": {}}, {"facts": {"topology": []}}, {"facts": {"topology": {"numa_nodes": 1}, "kubelet": {}}}, {"facts": {"topology": {"unread": "denied", "detail": "x"}}}])  # fmt: skip
def test_a_report_that_does_not_say_is_unread(data):
    with pytest.raises(UnreadError):
        node_of_report(data)


GOOD = report(TOPOLOGY, GPUS, kubelet(STATES["podresources"]), NICS)


@given(st.data())
def test_a_damaged_report_never_crashes(data):
    """Any one value of it is replaced by another."""
    damaged = json.loads(json.dumps(GOOD))
    value = damaged["facts"]
    while isinstance(value, dict | list) and value:
        key = data.draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
        if not isinstance(value[key], dict | list) or data.draw(st.booleans()):
            value[key] = data.draw(
                st.none()
                | st.booleans()
                | st.integers(-5, 10**6)
                | st.text(max_size=5)
                | st.just([])
                | st.just({})
                | st.just({"unread": "denied", "detail": ""})
            )
            break
        value = value[key]
    try:
        node = node_of_report(damaged)
    except UnreadError:
        return
    assert len(place(node, (parse_shape("gpus=1,cpus=2,memory=1Gi"),))) == 1
