"""The class-affinity overlays on real API servers, schedulers and job controllers: 1.35 with v1beta1, 1.36 with v1. Nodes are objects without a kubelet."""

import itertools

import pytest

from tests.real.cluster import CONTROLLERS, HOSTNAME, SCHEDULER, program, started
from tests.real.conftest import need_real
from tests.real.daemonrun import eventually
from tests.real.manifests import DAEMONSET, kustomized

CLASS, JOB = "hostagent.dev/fabric-class", "batch.kubernetes.io/job-name"
LABELS = {JOB: "train"}
GATES = ("--feature-gates=MutatingAdmissionPolicy=true", "--runtime-config=admissionregistration.k8s.io/v1beta1=true")
#: The scheduler prefers emptier nodes: the four large ones, two of each class, fill first. `none`, the largest, has no class.
NODES = {f"{name}{number}": (f"1-{name * 12}", "64" if number < 3 else "2") for name in "ab" for number in range(1, 5)}
NODES["none"] = ("", "640")
BOTH = {"1-aaaaaaaaaaaa", "1-bbbbbbbbbbbb"}
#: The term as the API server stores it: the value of the label is in the selector.
TERM = {
    "topologyKey": CLASS,
    "matchLabelKeys": [JOB],
    "labelSelector": {"matchExpressions": [{"key": JOB, "operator": "In", "values": ["train"]}]},
}
OTHER = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "store"}}}
SAME_KEY = {"topologyKey": CLASS, "labelSelector": {"matchLabels": {"app": "store"}}}
OURS = {"topologyKey": CLASS, "labelSelector": {}, "matchLabelKeys": [JOB]}
REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
NODE_AFFINITY = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]}}}
ANTI = {"podAntiAffinity": {REQUIRED: [{"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "noise"}}}]}}
WEIGHED = {PREFERRED: [{"weight": 7, "podAffinityTerm": OTHER}]}
#: By what a pod is: its affinity, and the one that it gets. None: no member "affinity".
AFFINITIES = {
    "has none": (None, {"podAffinity": {REQUIRED: [TERM]}}),
    "has an empty one": ({}, {"podAffinity": {REQUIRED: [TERM]}}),
    "has an empty podAffinity": ({"podAffinity": {}}, {"podAffinity": {REQUIRED: [TERM]}}),
    "chooses nodes": (NODE_AFFINITY, {**NODE_AFFINITY, "podAffinity": {REQUIRED: [TERM]}}),
    "avoids pods": (ANTI, {**ANTI, "podAffinity": {REQUIRED: [TERM]}}),
    "prefers pods": ({"podAffinity": WEIGHED}, {"podAffinity": {**WEIGHED, REQUIRED: [TERM]}}),
    "requires other pods": ({"podAffinity": {REQUIRED: [OTHER]}}, {"podAffinity": {REQUIRED: [OTHER, TERM]}}),
    "requires others in its class": ({"podAffinity": {REQUIRED: [SAME_KEY]}}, {"podAffinity": {REQUIRED: [SAME_KEY, TERM]}}),
    "has all": (
        {**NODE_AFFINITY, **ANTI, "podAffinity": {**WEIGHED, REQUIRED: [OTHER]}},
        {**NODE_AFFINITY, **ANTI, "podAffinity": {**WEIGHED, REQUIRED: [OTHER, TERM]}},
    ),
    "has the term": ({"podAffinity": {REQUIRED: [OURS, OTHER]}}, {"podAffinity": {REQUIRED: [TERM, OTHER]}}),
}
#: Pods that are left alone: namespace, labels, and more of the spec.
LEFT_ALONE = {
    "in another namespace": ("plain", LABELS, {}),
    "of no Job": ("classes", {}, {}),
    "that opts out": ("classes", {**LABELS, "hostagent.dev/class-affinity": "disabled"}, {}),
    "with a node": ("classes", LABELS, {"nodeName": "a1"}),
}


def rendered(overlay):
    """As kubectl applies it."""
    return kustomized(DAEMONSET / "overlays" / overlay)


def create(cluster, namespace, kind, body, *, dry=False):
    group = "/apis/batch/v1" if kind == "jobs" else "/api/v1"
    query = "?fieldValidation=Strict" + "&dryRun=All" * dry
    return cluster.admin("POST", f"{group}/namespaces/{namespace}/{kind}{query}", body)


def affinity_of(cluster, namespace="classes", labels=LABELS, **spec):
    """Of a pod as it would be stored; None for none."""
    body = {"metadata": {"name": "one", "labels": labels}, "spec": {"containers": [{"name": "job", "image": "none"}], **spec}}
    return create(cluster, namespace, "pods", body, dry=True)["spec"].get("affinity")


@pytest.fixture(scope="module", params=["class-affinity-v1beta1", "class-affinity"])
def policed(request, tmp_path_factory):
    """A cluster in which the overlay is in force for the namespace "classes", and not for "plain"."""
    flags, server = GATES, program("kube-apiserver")
    if request.param == "class-affinity":
        flags, server = (), need_real("kubernetes-1.36/kube-apiserver", "bash tests/real/install_kubernetes.sh 1.36")
    with started(tmp_path_factory.mktemp("cluster"), (SCHEDULER, CONTROLLERS), flags=flags, server=server) as cluster:
        for name, labels in (("classes", {"hostagent.dev/class-affinity": "enabled"}), ("plain", {})):
            cluster.admin("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        for one in rendered(request.param):
            plural = one["kind"].lower().replace("policy", "policies") if one["kind"].endswith("Policy") else one["kind"].lower() + "s"
            cluster.admin("POST", f"/apis/{one['apiVersion']}/{plural}?fieldValidation=Strict", one)
        eventually(lambda: affinity_of(cluster), 60)
        for name, (fabric, cpu) in NODES.items():
            room = {"cpu": cpu, "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "1"}
            status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}
            labels = {HOSTNAME: name, **({CLASS: fabric} if fabric else {})}
            cluster.admin("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}, "status": status})
            cluster.taint(name, ())
        yield cluster


class Jobs:
    """Jobs of one GPU a pod: a node has room for one pod."""

    def __init__(self, cluster, namespace):
        self.cluster, self.namespace = cluster, namespace

    def start(self, name, pods):
        room = {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}
        spec = {"restartPolicy": "Never", "containers": [{"name": "job", "image": "none", "resources": room}]}
        body = {"completions": pods, "parallelism": pods, "template": {"spec": spec}}
        create(self.cluster, self.namespace, "jobs", {"metadata": {"name": name}, "spec": body})

    def pods(self, name=""):
        query = f"?labelSelector={JOB}%3D{name}" if name else ""
        return self.cluster.admin("GET", f"/api/v1/namespaces/{self.namespace}/pods{query}")["items"]

    def nodes(self, name, wanted):
        """Of its pods, once `wanted` of them have one."""

        def found():
            return sorted(one["spec"]["nodeName"] for one in self.pods(name) if "nodeName" in one["spec"])

        eventually(lambda: len(found()) == wanted, 60)
        return found()

    def orphan(self):
        """The Jobs go, and their pods stay."""
        path = f"/apis/batch/v1/namespaces/{self.namespace}/jobs"
        self.cluster.admin("DELETE", f"{path}?propagationPolicy=Orphan")
        eventually(lambda: not self.cluster.admin("GET", path)["items"])

    def clear(self):
        """No kubelet ends the pods: they are deleted without grace."""
        self.orphan()
        self.cluster.admin("DELETE", f"/api/v1/namespaces/{self.namespace}/pods?gracePeriodSeconds=0")
        eventually(lambda: not self.pods())


@pytest.fixture
def jobs(policed):
    made = {name: Jobs(policed, name) for name in ("classes", "plain")}
    yield made
    for one in made.values():
        one.clear()


def classes(nodes):
    return {NODES[name][0] for name in nodes}


def test_both_overlays_are_one_text():
    stable, beta = rendered("class-affinity"), rendered("class-affinity-v1beta1")
    assert [one["apiVersion"] for one in stable + beta] == ["admissionregistration.k8s.io/v1"] * 2 + [
        "admissionregistration.k8s.io/v1beta1"
    ] * 2
    assert [{**one, "apiVersion": ""} for one in stable] == [{**one, "apiVersion": ""} for one in beta]


@pytest.mark.full
@pytest.mark.parametrize("pod", AFFINITIES)
def test_a_pod_of_a_job_gets_the_term_and_keeps_what_it_has(policed, pod):
    before, after = AFFINITIES[pod]
    assert affinity_of(policed, **({} if before is None else {"affinity": before})) == after


@pytest.mark.full
@pytest.mark.parametrize("pod", LEFT_ALONE)
@pytest.mark.parametrize("affinity", [None, ANTI])
def test_other_pods_are_left_alone(policed, pod, affinity):
    namespace, labels, spec = LEFT_ALONE[pod]
    assert affinity_of(policed, namespace, labels, **spec, **({"affinity": affinity} if affinity else {})) == affinity


@pytest.mark.full
def test_without_the_policy_each_of_two_jobs_mixes_classes(jobs):
    names = []
    for name in ("first", "second"):
        jobs["plain"].start(name, 4)
        names.append(jobs["plain"].nodes(name, 4))
        assert classes(names[-1]) >= BOTH, names
    assert len(set(itertools.chain(*names))) == 8


@pytest.mark.full
def test_with_the_policy_each_of_two_jobs_lands_in_one_class(jobs):
    for name in ("first", "second"):
        jobs["classes"].start(name, 4)
        assert len(classes(jobs["classes"].nodes(name, 4))) == 1
    assert classes(jobs["classes"].nodes("first", 4)) | classes(jobs["classes"].nodes("second", 4)) == BOTH


@pytest.mark.full
def test_the_pod_that_its_class_has_no_room_for_stays_pending_and_says_why(jobs):
    jobs["classes"].start("wide", 5)
    assert len(classes(jobs["classes"].nodes("wide", 4))) == 1

    def message():
        waiting = [one for one in jobs["classes"].pods("wide") if "nodeName" not in one["spec"]]
        return [c.get("message", "") for one in waiting for c in one["status"].get("conditions", []) if c["type"] == "PodScheduled"]

    eventually(lambda: [text for text in message() if "didn't match pod affinity rules" in text])


@pytest.mark.full
def test_a_job_that_is_made_again_joins_the_pods_that_are_left_of_the_old_one(jobs):
    made = jobs["classes"]
    made.start("again", 2)
    (old,) = classes(made.nodes("again", 2))
    made.orphan()
    made.start("again", 2)
    assert classes(made.nodes("again", 4)) == {old}  # the emptier nodes are those of the other class
