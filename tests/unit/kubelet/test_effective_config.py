"""The kubelet's configuration as one version makes it; tests/real/test_kubelet_configz.py asks the real kubelet 1.35 the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.kubelet.config.documents import Document, decode_error, document_bytes, parse_document
from hostagent.domains.kubelet.config.effective import effective
from hostagent.domains.kubelet.config.flags import paths_of
from hostagent.domains.kubelet.config.model import KubeletInputs, Machine, MachineNode
from hostagent.domains.kubelet.config.states import StateFile
from hostagent.domains.kubelet.config.values import Members
from hostagent.domains.kubelet.tables.defaults import NEWEST, OLDEST
from hostagent.facts.kubelet import ReservedMemory
from tests.cpu import within
from tests.parsers import PIECES
from tests.real.kubelet_configs import CASES, random_cases, told

HEAD = b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
STATIC = b"kubeReserved: {cpu: '1'}\ncpuManagerPolicy: static\n"
GIB = 1 << 30
ABSENT = Unread("absent", "no such file")
MACHINE = Machine((MachineNode(0, 8 * GIB, ()), MachineNode(1, 8 * GIB, ())), "0-7", ("0-1", "2-3", "4-5", "6-7"), ABSENT, ABSENT)
UNKNOWN = Machine(*[Unread("denied", "open")] * 5)


def judged(config=None, *drops, flags=(), version="1.35.4", machine=MACHINE, environment=()):
    files, words = [], list(flags)
    if config is not None:
        files.append(("/c", config if isinstance(config, Unread) else HEAD + config))
        words.append("--config=/c")
    if drops:
        files += [(f"/d/{number}.conf", HEAD + body) for number, body in enumerate(drops)]
        words.append("--config-dir=/d")
    return effective(KubeletInputs(version, tuple(words), tuple(files), environment), machine)


def test_a_kubelet_without_files_has_the_defaults_and_no_thresholds():
    view = judged()
    assert (view.state, view.error, view.judged_as, view.refused_state_files) == ("accepted", "", "", ())
    assert (view.config.max_pods, view.config.topology_manager_policy, view.config.memory_manager_policy) == (110, "none", "None")
    assert view.config.eviction_hard == ()
    assert dict(judged(b"").config.eviction_hard)["memory.available"] == "100Mi"


def test_quantities_are_canonical_where_configz_has_them_so():
    view = judged(b"reservedMemory: [{numaNode: 1, limits: {memory: 1024Mi}}]\nkubeReserved: {memory: 1024Mi}\n")
    assert view.config.reserved_memory == (ReservedMemory(1, (("memory", "1Gi"),)),)
    assert view.config.kube_reserved == (("memory", "1024Mi"),)


def test_each_field_says_who_set_it():
    view = judged(
        b"maxPods: 1\npodsPerCore: 1\nevictionHard: {}\n",
        b"podsPerCore: 2\nmaxPods: null\n",
        flags=("--topology-manager-policy=restricted",),
    )
    origin = dict(view.origin)
    assert (origin["maxPods"], origin["podsPerCore"], origin["evictionHard"]) == ("default", "/d/0.conf", "/c")
    assert (origin["topologyManagerPolicy"], origin["cgroupDriver"]) == ("--topology-manager-policy", "default")


@pytest.mark.parametrize(
    ("version", "judged_as"),
    [("1.35.4", ""), ("v1.29.0+k3s1", ""), ("1.37.0", ""), ("1.38.0", "newer"), ("2.0.0", "newer"), ("1.28.9", "older"), ("?", "unknown"), (Unread("denied"), "unknown")],
)  # fmt: skip
def test_a_version_outside_the_tables_is_told(version, judged_as):
    assert judged(b"", version=version).judged_as == judged_as
    assert judged(b"", version=version).state == "accepted"


def test_a_version_that_is_not_known_may_know_names_that_we_do_not():
    gate = b"featureGates: {SomeNewGate: true}\n"
    assert judged(gate).state == "rejected"
    assert isinstance(judged(gate, version="1.99.0").state, Unread)
    assert isinstance(judged(gate, version="1.20.0").state, Unread)
    assert isinstance(judged(b"topologyManagerPolicy: new\n", version="1.99.0").state, Unread)
    assert isinstance(judged(b"", flags=("--new",), version="1.99.0").state, Unread)
    assert judged(b"maxPods: -1\n", version="1.99.0").state == "rejected"
    assert judged(b"maxPods: -1\n", version=Unread("denied")).state == "rejected"


def test_what_one_known_version_accepts_is_not_called_rejected_where_the_version_is_not_known():
    one = b"featureGates: {CPUManager: true}\n"
    assert judged(one, version="1.32.1").state == "accepted"
    assert judged(one, version="1.33.1").state == "rejected"
    assert isinstance(judged(one, version=Unread("denied")).state, Unread)


@pytest.mark.parametrize(
    ("body", "accepted"),
    [
        (b"featureGates: {MemoryManager: false}\n", {29, 30, 31}),
        (b"featureGates: {TopologyManager: true}\n", set()),
        (b"failCgroupV1: false\n", set(range(29, 38))),
        (b"cgroupsPerQOS: false\nenforceNodeAllocatable: [none]\n", set(range(31, 38))),
        (b"enforceNodeAllocatable: [pods, kube-reserved-compressible]\nkubeReservedCgroup: /k\n", set(range(32, 38))),
        (b"runOnce: true\n", {29, 30, 31}),
        (STATIC + b"cpuManagerPolicyOptions: {strict-cpu-reservation: 'true'}\n", set(range(33, 38))),
        (STATIC + b"cpuManagerPolicyOptions: {prefer-align-cpus-by-uncorecache: 'true'}\nfeatureGates: {CPUManagerPolicyAlphaOptions: true}\n", set(range(32, 38))),
        (b"topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {max-allowable-numa-nodes: '9'}\n", set(range(31, 38))),
        (b"containerLogMaxFiles: 1\n", {29, 30, 31, 32}),
        (b"cpuCFSQuotaPeriod: 5ms\n", {36, 37}),
        (b"crashLoopBackOff: {maxContainerRestartPeriod: 10s}\n", {29, 30, 31, 35, 36, 37}),
    ],
)  # fmt: skip
def test_versions_differ(body, accepted):
    assert {minor for minor in range(OLDEST, NEWEST + 1) if judged(body, version=f"1.{minor}.0").state == "accepted"} == accepted


def test_drop_ins_before_1_32_add_to_maps_and_cannot_remove():
    files = (
        b"maxPods: 9\nevictionHard: {memory.available: 1Gi}\n",
        b"maxPods: null\nevictionHard: {memory.available: null, pid.available: '5'}\n",
    )
    new, old = judged(*files), judged(*files, version="1.31.0")
    assert (new.config.max_pods, new.config.eviction_hard) == (110, (("pid.available", "5"),))
    assert (old.config.max_pods, old.config.eviction_hard) == (9, (("memory.available", "1Gi"), ("pid.available", "5")))
    assert judged(b"", b"topologyManagerPolicy: ''\n").state == "accepted"
    assert judged(b"", b"topologyManagerPolicy: ''\n", version="1.31.0").state == "rejected"


def test_drop_ins_of_1_29_need_a_variable():
    assert judged(b"", b"maxPods: 5\n", version="1.29.1").error.endswith("KUBELET_CONFIG_DROPIN_DIR_ALPHA not set, cannot start kubelet")
    assert judged(b"", b"maxPods: 5\n", version="1.29.1", environment=(("KUBELET_CONFIG_DROPIN_DIR_ALPHA", ""),)).config.max_pods == 5


def test_what_could_not_be_read_is_no_answer():
    gap = Unread("denied", "open /c: permission denied")
    assert judged(gap).state == gap
    assert judged(gap).config == gap
    view = effective(KubeletInputs("1.35.4", Unread("error", "cut"), ()), MACHINE)
    assert (view.state, view.config) == (Unread("error", "cut"), Unread("error", "cut"))
    missing = judged(Unread("absent", "no /c"))
    assert missing.state == "rejected"
    assert missing.error.endswith("open /c: no such file or directory")
    assert isinstance(missing.config, Unread)


def test_a_machine_that_is_not_known_refuses_nothing():
    body = b"reservedSystemCPUs: 90-99\nmemoryManagerPolicy: Static\nreservedMemory: [{numaNode: 70, limits: {memory: 100Mi}}]\n"
    view = judged(body, machine=UNKNOWN)
    assert view.state == "accepted"
    assert isinstance(view.refused_state_files, Unread)
    assert judged(body).error == "reserved-cpus: 90-99 is not a subset of online-cpus: 0-7"


def test_a_state_file_of_another_policy_is_refused_by_name():
    file = StateFile("", "right", "none", "", (), (), ())
    view = judged(b"kubeReserved: {cpu: '1'}\ncpuManagerPolicy: static\n", machine=MACHINE._replace(cpu_state=file))
    assert (view.state, view.refused_state_files) == ("rejected", ("cpu_manager_state",))
    assert 'configured policy "static" differs from state checkpoint policy "none"' in view.error


def test_too_deep_a_document_is_not_read():
    view = judged(b"x: " + b"[" * 200 + b"]" * 200 + b"\n")
    assert view.state == Unread("error", view.state.detail)
    assert "not read" in view.state.detail


def test_the_places_of_files_are_found_in_any_command_line():
    assert paths_of(("--config", "/a", "--config_dir=/d", "--config=/b", "--unknown", "--root-dir=/r")) == ("/b", "/d", "/r")
    assert paths_of(()) == ("", "", "")


@pytest.mark.parametrize("name", CASES)
def test_a_document_that_is_kept_is_judged_as_before(name):
    for data in (CASES[name].config, *CASES[name].drops.values()):
        if isinstance(data, tuple) or data is None:
            continue
        raw = data if isinstance(data, bytes) else data.encode()
        error = decode_error(raw)
        if error:
            assert decode_error(b"\0" + error.encode()) == error
        else:
            document = parse_document(raw)
            again = parse_document(document_bytes(document))
            assert (again.value, bool(again.strict)) == (document.value, bool(document.strict))


SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=8) | st.sampled_from(PIECES)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(st.text(max_size=4), inner), max_size=3).map(Members)
)
NAMES = st.sampled_from(sorted({line.partition(":")[0] for case in random_cases(40, 1).values() for line in str(case.config).splitlines()}))


@settings(max_examples=150)
@given(st.lists(st.tuples(NAMES, VALUES), max_size=5), st.lists(st.sampled_from(PIECES), max_size=3), st.integers(OLDEST - 1, NEWEST + 1))
@within(5)
def test_any_values_have_an_answer(pairs, words, minor):
    document = document_bytes(
        Document(Members([("apiVersion", "kubelet.config.k8s.io/v1beta1"), ("kind", "KubeletConfiguration"), *pairs]), ())
    )
    files = (("/c", document), ("/d/1.conf", document))
    for flags in (("--config=/c",), ("--config=/c", "--config-dir=/d", *words)):
        view = effective(KubeletInputs(f"1.{minor}.0", flags, files), MACHINE)
        assert isinstance(view.state, Unread) or view.state in {"accepted", "rejected"}
        assert isinstance(view.state, Unread) or (view.error == "") == (view.state == "accepted")


@settings(max_examples=150)
@given(
    st.lists(
        st.binary(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=8).map(lambda parts: "".join(parts).encode()),
        min_size=1,
        max_size=3,
    )
)
@within(5)
def test_any_bytes_have_an_answer(contents):
    files = tuple((f"/d/{number}.conf", data) for number, data in enumerate(contents))
    assert effective(KubeletInputs("1.35.0", ("--config=/c", "--config-dir=/d"), files), MACHINE).state in {"accepted", "rejected"}


def test_the_cases_of_the_real_kubelet_have_an_answer_in_every_version():
    for case in {**CASES, **random_cases(60, 3)}.values():
        flags, files = told(case)
        read = tuple(
            (path, data if isinstance(data, bytes) else data.encode()) for path, data in files.items() if isinstance(data, str | bytes)
        )
        for minor in (OLDEST, 31, 33, NEWEST):
            assert not isinstance(effective(KubeletInputs(f"1.{minor}.0", flags, read), MACHINE).judged_as, Unread)
