"""Texts of --pod and manifests: what they mean, what is refused, and that nothing hostile crashes or hangs."""

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hostagent.domains.kubelet.placement import parse_shape, pods_in
from hostagent.domains.kubelet.placement.pods import is_guaranteed, total
from hostagent.domains.kubelet.placement.quantity import amount, exact_quantity, shown

GI = 1 << 30


def test_one_container_whose_requests_are_its_limits():
    pod = parse_shape("gpus=6,cpus=40,memory=200Gi,nics=2,hugepages-2Mi=1Gi,hugepages-1Gi=4Gi,rdma/hca=1")
    (one,) = pod.containers
    assert one.requests == one.limits
    assert one.limits == {
        "gpus": 6, "cpu": 40000, "memory": 200 * GI, "nics": 2, "hugepages-2Mi": GI, "hugepages-1Gi": 4 * GI, "rdma/hca": 1,
    }  # fmt: skip
    assert pod.label == "gpus=6,cpus=40,memory=200Gi,nics=2,hugepages-2Mi=1Gi,hugepages-1Gi=4Gi,rdma/hca=1"
    assert is_guaranteed(pod)
    assert not is_guaranteed(parse_shape("gpus=1,cpus=2"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is no name=quantity such as gpus=6"),
        ("gpus", "'gpus' is no name=quantity such as gpus=6"),
        ("gpus=", "'gpus=' is no name=quantity such as gpus=6"),
        ("gpu=1", "'gpu' is no resource: use cpus, memory, hugepages-2Mi, hugepages-1Gi, gpus, nics or a full name such as rdma/hca"),
        ("gpus=1,gpus=2", "gpus is given twice"),
        ("gpus=-1", "'-1' is out of range"),
        ("gpus=1.5", "gpus=1.5: devices are counted in whole numbers"),
        ("memory=many", "'many' is no quantity such as 4, 500m or 200Gi"),
        ("memory=9e18000", "'9e18000' is no quantity such as 4, 500m or 200Gi"),
        ("memory=9e300", "'9e300' is larger than any resource"),
        (",".join(f"a.b/{number}=1" for number in range(80)), "a pod's shape names at most 64 resources"),
    ],
)
def test_a_shape_that_is_none(text, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        parse_shape(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("0.5", 0.5),
        ("500m", 0.5),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("1Ei", 2**60),
        (".5", 0.5),
        ("+2", 2),
        (3, 3),
        (1.5, 1.5),
    ],
)
def test_quantities(text, value):
    number, parts = exact_quantity(text)
    assert number / parts == value


@pytest.mark.parametrize("text", ["", "1 Gi", "Gi", "1gi", "1K", "0x10", "\u0661", "1e", "--1", "1.2.3", None, True, [], {}])
def test_no_quantities(text):
    with pytest.raises(ValueError, match="is no quantity"):
        exact_quantity(text)


def test_amounts_are_rounded_up_and_shown_again():
    assert (amount("cpu", "1.0001"), amount("memory", "0.5"), amount("nvidia.com/gpu", "2")) == (1001, 1, 2)
    assert (shown("cpu", 1500), shown("cpu", 2000), shown("memory", 3 * GI), shown("memory", 1000)) == ("1500m", "2", "3Gi", "1000")


SPEC = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 8, "cpu": "40", "memory": "200Gi"}}}]}
TEMPLATE = {"template": {"spec": SPEC}}
KINDS = {
    "Pod": SPEC,
    "Deployment": TEMPLATE,
    "Job": TEMPLATE,
    "StatefulSet": TEMPLATE,
    "DaemonSet": TEMPLATE,
    "CronJob": {"jobTemplate": {"spec": TEMPLATE}},
    "TrainJob": {"podTemplateOverrides": [{"spec": SPEC}]},
    "PyTorchJob": {"pytorchReplicaSpecs": {"Master": TEMPLATE, "Worker": TEMPLATE}},
}


@pytest.mark.parametrize("kind", KINDS)
def test_anything_with_one_pod_template(kind):
    pod = pods_in({"kind": kind, "metadata": {"name": "train"}, "spec": KINDS[kind]}, "job.yaml")[0]
    assert pod.label == "job.yaml train"
    assert pod.containers[0].requests == {"nvidia.com/gpu": 8, "cpu": 40000, "memory": 200 * GI}
    assert is_guaranteed(pod)


def test_templates_that_differ_are_a_pod_each():
    launcher = {"template": {"spec": {"containers": [{"name": "main"}]}}}
    document = {"kind": "MPIJob", "metadata": {"name": "train"}, "spec": {"mpiReplicaSpecs": {"Launcher": launcher, "Worker": TEMPLATE}}}
    first, second = pods_in(document, "job.yaml")
    assert first.label == "job.yaml train spec.mpiReplicaSpecs.Launcher.template.spec"
    assert second.label == "job.yaml train spec.mpiReplicaSpecs.Worker.template.spec"
    assert (total(first), total(second)["nvidia.com/gpu"]) == ({}, 8)


def test_each_item_of_a_list_counts():
    """As kubectl writes them: equal pods are as many pods, what has none is passed over, a list in a list is a list."""
    pods = [{"kind": "Pod", "metadata": {"name": name}, "spec": SPEC} for name in "abb"]
    document = {"kind": "List", "items": [*pods, {"kind": "Service", "spec": {}}, {"kind": "PodList", "items": pods[:1]}]}
    assert [pod.label for pod in pods_in(document, "all.yaml")] == ["all.yaml a", "all.yaml b", "all.yaml b", "all.yaml a"]
    with pytest.raises(ValueError, match="no pod template"):
        pods_in({"kind": "List", "items": []}, "all.yaml")


def _resources(**resources):
    return {"kind": "Pod", "spec": {"containers": [{"name": "main", "resources": resources}]}}


REFUSED = {
    "a part of a GPU": (_resources(limits={"nvidia.com/gpu": 1.5}), "found 1.5, wanted a whole number"),
    "a request alone": (_resources(requests={"nvidia.com/gpu": 1}), "found a request without a limit"),
    "two numbers": (
        _resources(requests={"nvidia.com/gpu": 1}, limits={"nvidia.com/gpu": 2}),
        "found a request of 1 and a limit of 2, wanted the same",
    ),
    "huge pages": (_resources(requests={"hugepages-2Mi": "4Mi"}), "found a request without a limit"),
    "more than the limit": (
        _resources(requests={"cpu": 9}, limits={"cpu": 4}),
        "found a request of 9 and a limit of 4, wanted at most the limit",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_api_server_refuses_is_no_pod(name):
    document, message = REFUSED[name]
    with pytest.raises(ValueError, match=f"container main: .*{message}"):
        pods_in(document, "p")


def test_an_empty_group_makes_a_pod_best_effort():
    """As kubelet 1.35 computes it: spec.resources counts where it is there, and be it empty."""
    assert is_guaranteed(pods_in({"kind": "Pod", "spec": SPEC}, "p")[0])
    assert not is_guaranteed(pods_in({"kind": "Pod", "spec": SPEC | {"resources": {}}}, "p")[0])


def test_a_runtime_class_s_overhead_counts():
    pod = pods_in({"kind": "Pod", "spec": SPEC | {"overhead": {"cpu": "250m"}}}, "p")[0]
    assert (total(pod)["cpu"], total(pod, limits=True)["cpu"]) == (40250, 40000)


def test_init_containers_sidecars_and_defaults():
    spec = {
        "initContainers": [
            {"name": "i", "resources": {"limits": {"cpu": 4}}},
            {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
        ],
        "containers": [{"name": "a", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}, "requests": {"cpu": "1"}}}, {"name": "b"}],
    }
    pod = pods_in({"kind": "Pod", "spec": spec}, "p")[0]
    assert [one.kind for one in pod.in_order] == ["init", "sidecar", "app", "app"]
    assert pod.containers[0].requests == {"cpu": 4000}
    assert pod.containers[2].requests == {"cpu": 1000, "memory": GI}
    assert total(pod) == {"cpu": 4000, "memory": GI}
    assert not is_guaranteed(pod)


def test_a_pod_with_resources_of_its_own():
    spec = SPEC | {"resources": {"limits": {"cpu": "64", "memory": "300Gi"}}}
    pod = pods_in({"kind": "Pod", "spec": spec}, "p")[0]
    assert dict(pod.requests) == {"cpu": 40000, "memory": 200 * GI}
    assert pod.has_own_resources
    assert total(pod)["cpu"] == 40000
    assert not is_guaranteed(pod)


HOSTILE = {
    "no mapping": [], "no kind": {}, "no spec": {"kind": "Pod"}, "no containers": {"kind": "Pod", "spec": {}}, "empty": {"kind": "Pod", "spec": {"containers": []}},
    "containers no list": {"kind": "Pod", "spec": {"containers": {"a": 1}}}, "container no mapping": {"kind": "Pod", "spec": {"containers": [1]}},
    "resources a list": {"kind": "Pod", "spec": {"containers": [{"name": "a", "resources": []}]}},
    "limits a text": {"kind": "Pod", "spec": {"containers": [{"name": "a", "resources": {"limits": "x"}}]}},
    "a number as name": {"kind": "Pod", "spec": {"containers": [{"name": "a", "resources": {"limits": {1: 2}}}]}},
    "no quantity": {"kind": "Pod", "spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": None}}}]}},
    "negative": {"kind": "Pod", "spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "-1"}}}]}},
    "twice the same name": {"kind": "Pod", "spec": {"containers": [{"name": "a"}, {"name": "a"}]}},
    "too many": {"kind": "Pod", "spec": {"containers": [{"name": str(number)} for number in range(300)]}},
    "no template": {"kind": "Service", "spec": {"ports": [{"port": 1}]}},
    "large": {"kind": "X", "spec": {"a": [{"b": [1] * 300}] * 300}},
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_manifest_is_refused_with_a_sentence(name):
    with pytest.raises(ValueError, match=r"\w+ .*"):
        pods_in(HOSTILE[name], "p")[0]


def test_a_manifest_that_contains_itself_is_refused():
    loop = {"kind": "X"}
    loop["spec"] = loop
    with pytest.raises(ValueError, match="too large or too deep"):
        pods_in(loop, "p")[0]
    deep = value = {}
    for _ in range(5000):
        value["a"] = value = {}
    with pytest.raises(ValueError, match="too large or too deep"):
        pods_in(deep, "p")[0]


def test_many_uses_of_one_anchor_are_refused():
    text = "a: &a [1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
        f"{new}: &{new} [{', '.join(f'*{old}' for _ in range(8))}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    with pytest.raises(ValueError, match="too large or too deep"):
        pods_in(yaml.safe_load(text), "p")[0]


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["1", "500m", "200Gi", "Always", "Pod"])
)
KEYS = st.sampled_from(
    ["kind", "spec", "template", "containers", "initContainers", "resources", "limits", "requests", "cpu", "memory", "nvidia.com/gpu", "name", "restartPolicy", "metadata"]
) | st.text(max_size=8)  # fmt: skip


@given(st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=40))
def test_any_document_is_a_pod_or_a_sentence(document):
    try:
        pod = pods_in(document, "p")[0]
    except ValueError:
        return
    assert pod.containers


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["gpus", "cpus", "memory", "=", ",", "1", "Gi", "m", "e", ".", "a.b/c", "-"]), max_size=20).map("".join)
)
def test_any_text_is_a_shape_or_a_sentence(text):
    try:
        pod = parse_shape(text)
    except ValueError:
        return
    assert pod.containers[0].limits
