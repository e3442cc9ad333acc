"""The placement model: what the kubelet was seen to answer, what it says about it, what is not known, and how much it looks at."""

import dataclasses
import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.kubelet.placement import admits_by_count, capacity, emptied, parse_shape, place, pods_in
from hostagent.domains.kubelet.placement import masks as masks_module
from hostagent.domains.kubelet.placement.masks import Hints, fewest, mask_of
from hostagent.domains.kubelet.placement.merge import Best, Policy, _compromise, _compromise_of_many, merge
from hostagent.domains.kubelet.placement.node import Node
from hostagent.facts.kubelet import Device, KubeletState, MemoryBlock
from tests.placement_cases import cases, node_of_case
from tests.placement_rows import EVEN, GI, ROWS, M, box, devices, gpus, machine, pod, setup


def answers(node, shapes, **options):
    return place(node, tuple(parse_shape(shape) for shape in shapes), **options)


def even(policy="restricted", **other):
    return node_of_case(setup(M, EVEN, policy, **other))


def given_away(**values):
    defaults = {
        "devices": (), "devices_from": "podresources", "cpu_policy": "", "cpus_shared": "", "cpus_exclusive": "", "memory_policy": "", "memory": (),
    }  # fmt: skip
    return KubeletState(**defaults | values)


@pytest.mark.parametrize("name", ROWS)
def test_what_the_kubelet_was_seen_to_answer(name):
    case, wanted = ROWS[name]
    found = place(node_of_case(case), tuple(pods_in(one, "p")[0] for one in case["pods"]), fixes=False)
    assert [" ".join(["ok", *map(str, one.numa_nodes)]) if one.admitted else one.reason for one in found] == wanted


@pytest.mark.parametrize(
    ("policy", "shape", "said"),
    [
        ("single-numa-node", "gpus=6", "6 GPUs do not fit one NUMA node: the largest has 4."),
        ("single-numa-node", "gpus=4,cpus=33,memory=1Gi", "33 CPUs do not fit one NUMA node: the largest has 32."),
        (
            "restricted",
            "gpus=8,cpus=20,memory=1Gi",
            "8 GPUs fit 2 NUMA nodes but 20 CPUs fit 1 NUMA node, and restricted wants the same nodes for all.",
        ),
        ("restricted", "gpus=9", "9 GPUs are asked for and 8 of 8 are free."),
        ("none", "gpus=1,cpus=65,memory=1Gi", "65 CPUs are asked for and 63 are free for containers alone."),
        ("none", "cpus=63500m,memory=1Gi", "63500m CPUs are asked for and 63 of 63 are left."),
        ("none", "memory=300Gi", "300Gi of memory is asked for and 254Gi of 254Gi is left."),
        ("best-effort", "gpus=1,nics=1", "No device plug-in has registered a NIC resource here."),
        (
            "best-effort",
            "example.com/x=1",
            "No device plug-in has registered example.com/x here: the scheduler sends no such pod to this node.",
        ),
        ("restricted", "gpus=4", "Starts on NUMA node 0."),
        ("best-effort", "gpus=8", "Starts on NUMA nodes 0, 1, not aligned by guarantee."),
        ("none", "gpus=8", "Starts on any NUMA nodes, not aligned by guarantee."),
    ],
)
def test_one_sentence_says_why(policy, shape, said):
    (found,) = answers(even(policy, static=True), [shape])
    assert found.message == said


def test_a_split_is_told_by_what_is_left_on_each_node():
    found = answers(even(), ["gpus=3", "gpus=3", "gpus=2"])
    assert found[2].message == "2 GPUs would fit one NUMA node of an empty host, but free are 1 on node 0, 1 on node 1."


def test_a_kubelet_that_would_not_start_admits_nothing():
    node = even()._replace(state="rejected", error="unknown field foo", config=Unread("error", "does not decode"))
    (found,) = answers(node, ["gpus=1"])
    assert (found.admitted, found.reason, found.fix) == (False, "KubeletNotStarting", None)
    assert "unknown field foo" in found.message


def test_a_host_without_a_kubelet_is_not_judged():
    (found,) = answers(even()._replace(state="absent"), ["gpus=1"])
    assert isinstance(found.admitted, Unread)


# what would help


@pytest.mark.parametrize(
    ("policy", "other", "shapes", "configuration", "cpus"),
    [
        ("single-numa-node", {}, ["gpus=6,cpus=40,memory=200Gi"], {"topologyManagerPolicy": "restricted"}, ()),
        ("restricted", {}, ["gpus=8,cpus=20,memory=1Gi"], {}, (33000,)),
        ("restricted", {}, ["gpus=4,cpus=33,memory=1Gi"], {}, (32000,)),
        ("restricted", {"cpu_options": {"full-pcpus-only": "true"}}, ["gpus=4,cpus=7,memory=1Gi"], {}, (6000,)),
        ("restricted", {}, ["gpus=3", "gpus=3", "gpus=2"], {"topologyManagerPolicy": "best-effort"}, ()),
        ("restricted", {}, ["gpus=9"], None, ()),
        ("restricted", {"memory": True}, ["gpus=8,cpus=40,memory=20Gi"], {"memoryManagerPolicy": "None"}, ()),
    ],
)
def test_the_fewest_changes_that_help(policy, other, shapes, configuration, cpus):
    found = answers(even(policy, static=True, **other), shapes)[-1]
    assert found.admitted is False
    if configuration is None:
        assert found.fix is None
    else:
        assert (dict(found.fix.configuration), tuple(size for _, size in found.fix.pod)) == (configuration, cpus)


def test_what_needs_as_many_nodes_is_told_together():
    (found,) = answers(even("restricted", static=True, memory=True), ["gpus=8,cpus=40,memory=10Gi"])
    wanted = "8 GPUs and 40 CPUs fit 2 NUMA nodes but 10Gi of memory fits 1 NUMA node, and restricted wants the same nodes for all."
    assert found.message == wanted


def test_a_pod_that_claims_devices_cannot_be_told():
    document = pod(box(1))
    document["spec"]["resourceClaims"] = [{"name": "gpu"}]
    (found,) = place(even("none"), pods_in(document, "p"))
    assert (found.admitted.why, found.reason) == ("not-supported", "")


def test_the_scope_is_changed_where_containers_stand_in_each_others_way():
    case, _ = ROWS["init 8 and app 1, scope container"]
    (found,) = place(node_of_case(case), tuple(pods_in(one, "p")[0] for one in case["pods"]))
    assert dict(found.fix.configuration) == {"topologyManagerScope": "pod"}


def test_many_nodes_are_allowed_only_where_the_kubelet_comes_to_an_end():
    for count, wanted in (
        (16, {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "16"}}),
        (34, {"topologyManagerPolicy": "none"}),
    ):
        (found,) = answers(node_of_case(setup(machine(count, cpus=2), {"nvidia.com/gpu": devices((0, 1))}, "restricted")), ["gpus=1"])
        assert found.reason == "KubeletNotStarting"
        assert dict(found.fix.configuration) == wanted


def test_a_crash_is_helped_by_switching_the_option_off():
    case, _ = ROWS["nodes 0, 8, 16, prefer-closest"]
    (found,) = place(node_of_case(case), tuple(pods_in(one, "p")[0] for one in case["pods"]))
    assert dict(found.fix.configuration) == {"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "false"}}


def test_every_fix_holds():
    """Placed again with the changed fields, the pod starts: for whatever is rejected among generated cases."""
    names = {
        "topologyManagerPolicy": "policy", "topologyManagerScope": "scope", "topologyManagerPolicyOptions": "options",
        "cpuManagerPolicyOptions": "cpu_options", "memoryManagerPolicy": "memory_policy",
    }  # fmt: skip
    seen = 0
    for case in cases(7, 250):
        found = place(node_of_case(case), tuple(pods_in(one, "p")[0] for one in case["pods"][:1]))[0]
        if found.fix is None:
            continue
        seen += 1
        changed = case | {names[field]: value for field, value in found.fix.configuration}
        one = pods_in(case["pods"][0], "p")[0]
        for _, size in found.fix.pod:
            (main,) = one.containers
            one = one._replace(containers=(main._replace(requests={**main.requests, "cpu": size}, limits={**main.limits, "cpu": size}),))
        assert place(node_of_case(changed), (one,), fixes=False)[0].admitted is True, (case, found)
    assert seen > 30


# what is given away


def test_taken_devices_cpus_and_memory_are_not_given_again():
    node = even(static=True, memory=True)
    taken = [dataclasses.replace(one, allocated=place < 3) for place, one in enumerate(node.devices)]
    memory = tuple(
        MemoryBlock(number, "memory", 127 * GI, 27 * GI if number == 0 else 127 * GI, (0,) if number == 0 else ()) for number in (0, 1)
    )
    state = given_away(cpu_policy="static", cpus_shared="0-9,32-63", cpus_exclusive="10-31", memory_policy="Static", memory=memory)
    busy = node._replace(devices=tuple(taken), given=state)
    assert answers(busy, ["gpus=2"])[0].numa_nodes == (1,)
    assert answers(busy, ["cpus=10,memory=1Gi"])[0].numa_nodes == (1,)
    assert answers(busy, ["cpus=2,memory=100Gi"])[0].numa_nodes == (1,)
    assert answers(busy, ["cpus=2,memory=200Gi"])[0].reason == "UnexpectedAdmissionError"  # node 0 serves single-node pods
    assert answers(emptied(busy), ["gpus=4,cpus=30,memory=100Gi"])[0].numa_nodes == (0,)
    assert capacity(busy)["max_gpus_single_numa_free"] == 4
    assert capacity(busy)["max_gpus_restricted_free"] == 5


def test_capacity():
    assert capacity(even()) == {
        "max_gpus_single_numa_total": 4, "max_gpus_single_numa_free": 4, "max_gpus_restricted_free": 8,
        "gpus_per_numa": {0: 4, 1: 4}, "cpus_per_numa": {0: 32, 1: 32}, "nics_per_numa": {0: 0, 1: 0},
    }  # fmt: skip


def test_all_gpus_are_those_that_are_registered():
    assert answers(even(), ["gpus=0"])[0].numa_nodes == (0, 1)
    assert answers(even()._replace(devices=()), ["gpus=0"])[0].admitted is False


def test_the_one_nic_resource():
    node = node_of_case(setup(M, EVEN | {"rdma/hca": devices((1, 2))}, "restricted"))
    assert answers(node, ["gpus=2,nics=1"])[0].numa_nodes == (1,)
    several = node._replace(devices=(*node.devices, Device("nvidia.com/sriov_ib", "x", (0,), True, False)))
    assert isinstance(answers(several, ["nics=1"])[0].admitted, Unread)


# what is not known


FIELDS = [
    "topology_manager_policy", "topology_manager_scope", "topology_manager_policy_options", "cpu_manager_policy", "cpu_manager_policy_options",
    "reserved_system_cpus", "memory_manager_policy", "reserved_memory", "kube_reserved", "system_reserved", "eviction_hard", "max_pods", "pods_per_core",
]  # fmt: skip

#: What a kubelet that aligns nothing is not asked for.
_NEVER_READ = ("topology_manager_policy_options", "cpu_manager_policy_options", "reserved_memory", "max_pods", "pods_per_core")


@pytest.mark.parametrize("field", FIELDS)
def test_an_unknown_field_of_the_configuration_is_no_answer(field):
    node = even(static=True, memory=True)
    unknown = node._replace(config=dataclasses.replace(node.config, **{field: Unread("denied", "open")}))
    found = answers(unknown, ["gpus=2,cpus=4,memory=4Gi"] * 2)[-1]
    assert isinstance(found.admitted, Unread)
    assert found.message.startswith("Cannot be told: ")


@pytest.mark.parametrize("field", ["nodes", "healthy", "allocated"])
def test_an_unknown_device_is_no_answer(field):
    node = even()
    unknown = node._replace(devices=tuple(dataclasses.replace(one, **{field: Unread("timeout", "podresources")}) for one in node.devices))
    assert isinstance(answers(unknown, ["gpus=1"])[0].admitted, Unread)
    assert answers(unknown, ["cpus=1,memory=1Gi"])[0].admitted is True


COUNTED = [
    ({"topology_manager_policy": "best-effort"}, {}, False),
    ({"topology_manager_policy": "restricted"}, {}, False),
    ({"cpu_manager_policy": "static"}, {}, False),
    ({"memory_manager_policy": "Static"}, {}, False),
    ({}, {"healthy": False}, False),
    ({}, {"allocated": True}, False),
    *(({}, {field: Unread("timeout", "podresources")}, field == "nodes") for field in ("nodes", "healthy", "allocated")),
    *(({field: Unread("denied", "open")}, {}, field in _NEVER_READ) for field in FIELDS),
]


@pytest.mark.parametrize(("fields", "device", "counts"), [({}, {}, True), *COUNTED])
def test_what_a_kubelet_that_aligns_nothing_admits_by_count_the_model_admits(fields, device, counts):
    node = even("none")
    first, *others = node.devices
    changed = node._replace(config=dataclasses.replace(node.config, **fields), devices=(dataclasses.replace(first, **device), *others))
    for count, fit in ((0, True), (1, True), (8, True), (9, False)):
        if admits_by_count(changed, count):
            assert (counts, fit) == (True, True)
            assert answers(changed, [f"gpus={count}"])[0].admitted is True
        else:
            assert not (counts and fit)


def test_a_share_of_memory_that_was_not_read_is_not_counted_over():
    node = even("none")
    config = dataclasses.replace(node.config, eviction_hard=(("memory.available", "5%"),))
    unread = node._replace(config=config, numa=tuple(one._replace(memory_bytes=Unread("denied")) for one in node.numa))
    assert admits_by_count(node._replace(config=config), 0)
    assert not admits_by_count(unread, 0)
    assert isinstance(answers(unread, ["gpus=8"])[0].admitted, Unread)


@pytest.mark.parametrize("state", ["rejected", "absent"])
def test_a_kubelet_that_does_not_run_admits_nothing_by_count(state):
    assert not admits_by_count(even("none")._replace(state=state), 0)


def test_after_an_unknown_pod_nothing_is_known():
    node = even()
    unknown = node._replace(devices=tuple(dataclasses.replace(one, nodes=Unread("timeout", "podresources")) for one in node.devices))
    found = answers(unknown, ["gpus=1", "cpus=1,memory=1Gi"])
    assert [isinstance(one.admitted, Unread) for one in found] == [True, True]


# alignment


def test_aligned_is_what_the_policy_guarantees():
    shape = ["gpus=4,cpus=4,memory=1Gi"]
    assert [answers(even(policy, static=True), shape)[0].aligned for policy in ("single-numa-node", "restricted", "best-effort", "none")] == [
        True, True, False, False,
    ]  # fmt: skip
    nowhere = node_of_case(setup(M, {"nvidia.com/gpu": devices((None, 8))}, "restricted", static=True))
    assert answers(nowhere, shape)[0].aligned is False
    case, _ = ROWS["two containers of 4, scope container"]
    assert place(node_of_case(case), tuple(pods_in(one, "p")[0] for one in case["pods"]))[0].aligned is False


# properties


def brute_force(policy, hints):
    """The merged hint by every combination of every set, as the documents tell it: (set, preferred), or None where it is rejected."""
    default = mask_of(policy.ids)
    lists = [[(mask, one.prefers(mask)) for mask in one.all()] for one in hints]
    if policy.name == "single-numa-node":
        lists = [[(mask, good) for mask, good in found if good and mask.bit_count() == 1] for found in lists]
    wanted = max((min(mask.bit_count() for mask, _ in found) for found in lists if found), default=0)
    merged = set()
    for chosen in itertools.product(*lists):
        together = default
        for mask, _ in chosen:
            together &= mask
        merged.add((together, len({mask for mask, _ in chosen}) == 1 and all(good for _, good in chosen)))
    good = [mask for mask, preferred in merged if mask and preferred]
    if good:
        return min(good, key=lambda mask: (mask.bit_count(), mask)), True
    if policy.name != "best-effort":
        return None
    left = [mask for mask, _ in merged if mask]
    return (min(left, key=lambda mask: _rank(mask, wanted)) if left else default), False


def _rank(mask, wanted):
    """The wanted size, then the next smaller ones, then the next larger ones."""
    size = mask.bit_count()
    return (0, wanted - size, mask) if size <= wanted else (1, size, mask)


def hints_of(amounts, free, need):
    """One resource whose nodes hold `amounts` and have `free` left."""
    ids = tuple(amounts)

    def fits(mask):
        return sum(count for number, count in free.items() if mask >> number & 1) >= need

    holders = mask_of(number for number, count in amounts.items() if count)
    return Hints("r", ids, holders, fits, fewest(amounts, need, len(ids))).holding(free, need)


@st.composite
def merging(draw, most=4):
    ids = tuple(range(draw(st.integers(1, most))))
    hints = []
    for _ in range(draw(st.integers(1, 3))):
        amounts = {number: draw(st.integers(0, 4)) for number in ids}
        free = {number: draw(st.integers(0, count)) for number, count in amounts.items()}
        if sum(free.values()):
            hints.append(hints_of(amounts, free, draw(st.integers(1, sum(free.values())))))
    return Policy(draw(st.sampled_from(["best-effort", "restricted", "single-numa-node"])), ids, False, {}), hints


@given(merging())
def test_merging_is_what_every_combination_gives(made):
    policy, hints = made
    if hints:
        best = merge(policy, hints)
        wanted = brute_force(policy, hints)
        assert (None if best is None else best.preferred) == (None if wanted is None else wanted[1])
        if best is not None and best.mask is not None:
            assert best.mask == wanted[0]


@given(merging(most=5))
def test_many_nodes_are_answered_as_few_are(made):
    """The search that does not look at every set, against the one that does."""
    policy, hints = made
    if hints:
        default = mask_of(policy.ids)
        assert _compromise_of_many(policy, hints, default) == _compromise(policy, hints, default)


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_a_stricter_policy_admits_no_more(seed):
    """What single-numa-node admits restricted admits too, and best-effort what restricted does, of one container on an empty node."""
    rng = random.Random(seed)
    (case,) = cases(seed, 1)
    case = case | {"memory_policy": "None", "reserved_memory": [], "options": {}, "cpu_options": {}, "scope": "container"}
    amounts = {"gpus": rng.randint(1, 6), "cpus": rng.randint(1, 12)}
    shape = parse_shape(f"gpus={amounts['gpus']},cpus={amounts['cpus']},memory=1Gi")
    found = [
        place(node_of_case(case | {"policy": policy}), (shape,), fixes=False)[0].admitted
        for policy in ("single-numa-node", "restricted", "best-effort")
    ]
    assert found == sorted(found)


# how much it looks at


@pytest.fixture
def looked(monkeypatch):
    """How many sets of nodes the search was offered."""
    seen = []
    monkeypatch.setattr(masks_module, "mask_of", lambda ids, real=mask_of: seen.append(1) or real(ids))
    return seen


@pytest.mark.parametrize("policy", ["best-effort", "restricted", "single-numa-node"])
@pytest.mark.parametrize("shape", ["gpus=1", "gpus=4", "gpus=4,cpus=40,memory=10Gi", "gpus=2,cpus=100,memory=10Gi"])
@pytest.mark.parametrize(("count", "at"), [(34, (0, 0, 1, 1)), (34, (2, 10, 18, 26)), (64, (0, 0, 1, 1))])
def test_the_work_for_many_nodes_does_not_explode(looked, policy, shape, count, at):
    base = machine(count, cpus=72, with_cpus=2)
    options = {"max-allowable-numa-nodes": str(count)}
    node = node_of_case(setup(base, {"nvidia.com/gpu": devices(*((number, 1) for number in at))}, policy, static=True, options=options))
    (found,) = answers(node, [shape], fixes=False)
    assert found.admitted in (True, False)
    assert len(looked) < 200


def test_nodes_that_all_hold_something():
    base = machine(64, cpus=16)
    each = {"nvidia.com/gpu": devices(*((number, 2) for number in range(64)))}
    options = {"max-allowable-numa-nodes": "64"}
    node = node_of_case(setup(base, each, "restricted", static=True, options=options))
    found = answers(node, ["gpus=40,cpus=310,memory=10Gi", "gpus=3,cpus=20,memory=10Gi"], fixes=False)
    assert [one.numa_nodes for one in found] == [tuple(range(20)), (20, 21)]
    assert "does not come to an end" in found[0].message


def test_a_node_is_a_value():
    assert isinstance(even(), Node)
    assert Best(1, True, True) == Best(1, True, True)
    assert pod(box(1))["kind"] == "Pod"
    assert len(gpus(1, 2)) == 2


@pytest.mark.parametrize(("nodes", "reserved"), [(20, 40), (32, 35)])
def test_so_many_ways_to_reserve_cpus_that_not_all_are_looked_at_are_no_answer(nodes, reserved):
    cpus = [{"id": one, "cores": [{"cpus": [one * 4 + at], "socket": 0} for at in range(4)], "memory": GI, "distances": [10] * nodes, "hugepages": {}} for one in range(nodes)]  # fmt: skip
    spread = {"cpu_policy": "static", "cpu_options": {"distribute-cpus-across-numa": "true"}, "reserved": {"cpu": str(reserved)}}
    node = node_of_case({**setup(M, EVEN, "none"), "nodes": cpus, "sockets": 1, **spread})
    (found,) = answers(node, ["cpus=5,memory=1Mi"])
    assert isinstance(found.admitted, Unread)
    assert "too many sets" in found.message
