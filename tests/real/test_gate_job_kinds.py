"""What `hostagent gate --emit` writes, on a real API server: each document passes its strict validation and is stored as it was sent. The kinds
of Kubeflow Trainer, Kueue and Volcano are their own definitions; no controller of theirs runs.
"""

import contextlib
import copy
import functools
import itertools
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from hostagent.cli import cli
from hostagent.core.errors import HostagentError
from hostagent.gate import Request, parse_candidate, place
from hostagent.gate.backends.served import PATH, trainer_version
from hostagent.gate.emit import Options, emit
from hostagent.gate.emit.trainer import TRAINERS
from hostagent.kube.access import access_to
from hostagent.kube.api import Api
from tests.gate_summaries import NOW, summary
from tests.real import gatecluster
from tests.real.cluster import CONTROLLERS, HOSTNAME, started
from tests.real.conftest import need_real
from tests.real.daemonrun import eventually as within
from tests.real.gatecluster import Drawn, Host
from tests.real.manifests import kubectl

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="files of root alone are obeyed: run 'sudo make test'")]
#: A server that is busy takes its time over definitions of half a megabyte.
eventually = functools.partial(within, within_s=90)
SPACE, MARK = "job-kinds", "example.com/job-kinds"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATHS = {
    "Job": f"/apis/batch/v1/namespaces/{SPACE}/jobs",
    "Service": f"/api/v1/namespaces/{SPACE}/services",
    "Pod": f"/api/v1/namespaces/{SPACE}/pods",
    "TrainJob": f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{SPACE}/trainjobs",
    "ResourceFlavor": "/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
    "Topology": "/apis/kueue.x-k8s.io/v1beta2/topologies",
    "Volcano": f"/apis/batch.volcano.sh/v1alpha1/namespaces/{SPACE}/jobs",
}
TOLERATIONS = (
    {"key": "dedicated", "operator": "Equal", "value": "training", "effect": "NoSchedule"},
    {"key": "nvidia.com/gpu", "operator": "Exists"},
)
INDEX = "batch.kubernetes.io/job-completion-index"
COMMAND = ("torchrun", "train.py", "--name", "no", "12", "a: b", "$(NODE_RANK)")


def answered(nodes=2, gpus=8, *, pin="nodes", **more):
    candidates = [parse_candidate(summary(f"n{number}"), f"{number}.json") for number in range(4)]
    return replace(place(Request(nodes, gpus), candidates, NOW, "kubernetes", pin), **more)


def by_field():
    """Nodes of which one has no label with its name."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in ("n0", "n1")]
    return answered(affinity={"nodeAffinity": {required: {"nodeSelectorTerms": terms}}})


#: Answers of each shape, by what they say.
SETTINGS = {"NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:1", "NCCL_A": "yes", "NCCL_B": "1e3", "NCCL_C": 'a "b": $(HOME) #'}
ANSWERS = {
    "one node": answered(1),
    "the nodes by name": answered(3, env=SETTINGS, tolerations=TOLERATIONS),
    "two nodes of a half": answered(2, 4),
    "the class": answered(2, pin="class", tolerations=TOLERATIONS),
    "one of the class": answered(1, pin="class", env=SETTINGS),
    "nodes by a field": by_field(),
    "no settings": answered(env={}),
}
#: What the node selector of Trainer 2.0 can say.
OF_2_0 = ("one node", "the class", "one of the class")
_OF_KUEUE = ("the class", "one of the class")


@pytest.fixture(scope="module")
def space(cluster):
    """The cluster, with a namespace of these tests."""
    cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
    return cluster


@contextlib.contextmanager
def installed(cluster, folder):
    """With the kinds of CACHE/job-kinds/`folder`, until leaving."""
    where = Path(need_real(f"job-kinds/{folder}/key", "bash tests/real/install_job_kinds.sh")).parent
    made = [yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader) for path in sorted(where.glob("*.yaml"))]
    names = [one["metadata"]["name"] for one in made]
    try:
        for one in made:
            cluster.admin("POST", DEFINITIONS, one)
        eventually(lambda: all(is_established(cluster, name) for name in names))
        yield made
    finally:
        for name in names:
            cluster.ask("DELETE", f"{DEFINITIONS}/{name}")
        eventually(lambda: all(cluster.ask("GET", f"{DEFINITIONS}/{name}").status_code == 404 for name in names))


def is_established(cluster, name):
    found = cluster.admin("GET", f"{DEFINITIONS}/{name}").get("status", {}).get("conditions") or ()
    return {"Established": "True", "NamesAccepted": "True"}.items() <= {one["type"]: one["status"] for one in found}.items()


def options(name="train", **given):
    return Options(
        **{"name": name, "namespace": SPACE, "image": "registry.example/train:1", "command": COMMAND, "queue": "team-a", **given}
    )


def objects(text):
    document = yaml.safe_load(text)
    return document["items"] if document["kind"] == "List" else [document]


def path_of(one):
    return PATHS["Volcano" if one["apiVersion"].startswith("batch.volcano") else one["kind"]]


def apply(cluster, text):
    """As a user does, with what the server calls strict."""
    done = kubectl("apply", "--validate=strict", "-f", "-", cluster=cluster, stdin=text)
    assert (done.returncode, "arning" in done.stderr) == (0, False), done.stderr


def create(cluster, parts):
    """The same by requests: each object twice, first to be validated alone."""
    for query, one in itertools.product(("?fieldValidation=Strict&dryRun=All", "?fieldValidation=Strict"), parts):
        answer = cluster.ask("POST", f"{path_of(one)}{query}", one)
        assert (answer.ok, answer.headers.get("Warning")) == (True, None), answer.text


def stored(cluster, one):
    return cluster.admin("GET", f"{path_of(one)}/{one['metadata']['name']}")


def lost(sent, found, where=""):
    """Where the stored object has another value than the document. What the server adds is not lost."""
    if isinstance(sent, dict) and isinstance(found, dict):
        return [place for key, value in sent.items() for place in lost(value, found.get(key), f"{where}.{key}")]
    if isinstance(sent, list) and isinstance(found, list) and len(sent) == len(found):
        return [place for number, pair in enumerate(zip(sent, found, strict=True)) for place in lost(*pair, f"{where}[{number}]")]
    return [] if sent == found else [where]


@contextlib.contextmanager
def gone_after(cluster, parts):
    try:
        yield
    finally:
        for one in parts:
            cluster.ask("DELETE", f"{path_of(one)}/{one['metadata']['name']}?propagationPolicy=Background")
        eventually(lambda: all(cluster.ask("GET", f"{path_of(one)}/{one['metadata']['name']}").status_code == 404 for one in parts))


def is_stored_intact(cluster, text):
    parts = objects(text)
    with gone_after(cluster, parts):
        create(cluster, parts)
        for one in parts:
            assert lost(one, stored(cluster, one)) == []


def accepts_pod(cluster, spec, **metadata):
    body = {"metadata": {"name": "one", **metadata}, "spec": spec}
    answer = cluster.ask("POST", f"{PATHS['Pod']}?fieldValidation=Strict&dryRun=All", body)
    assert answer.ok, answer.text
    found = answer.json()
    added = found["spec"]["tolerations"][len(spec.get("tolerations", ())) :]
    assert {one["key"] for one in added} == {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}, "the server's own"
    found["spec"]["tolerations"] = found["spec"]["tolerations"][: -len(added)]
    assert lost(body, found) == []


@pytest.mark.parametrize("shape", ANSWERS)
def test_an_indexed_job_and_its_service_are_stored_intact(space, shape):
    is_stored_intact(space, emit("indexed-job", ANSWERS[shape], options()))


def test_pods_of_an_indexed_job_have_the_number_and_the_name_that_the_environment_says(space):
    text = emit("indexed-job", answered(3), options())
    service, job = objects(text)
    selected = (
        f"{PATHS['Pod']}?labelSelector=batch.kubernetes.io%2Fjob-name%3D{service['spec']['selector']['batch.kubernetes.io/job-name']}"
    )

    def pods():
        return space.admin("GET", selected)["items"]

    with space.running(CONTROLLERS):
        with gone_after(space, [service, job]):
            apply(space, text)
            eventually(lambda: len(pods()) == 3)
            by_rank = {one["metadata"]["annotations"][INDEX]: one["spec"] for one in pods()}
            names = {rank: f"{spec['hostname']}.{spec['subdomain']}" for rank, spec in by_rank.items()}
            assert names == {"0": "train-0.train", "1": "train-1.train", "2": "train-2.train"}
            env = {one["name"]: one for one in by_rank["1"]["containers"][0]["env"]}
            assert env["MASTER_ADDR"]["value"] == names["0"]
            assert env["NODE_RANK"]["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.annotations['{INDEX}']"
        eventually(lambda: not pods())


def test_a_cluster_without_trainer_says_so(space, tmp_path):
    with api(space, tmp_path) as asked:
        eventually(lambda: space.ask("GET", PATH).status_code == 404)
        with pytest.raises(HostagentError, match=r"found no trainer\.kubeflow\.org/v1alpha1 in the cluster"):
            trainer_version(asked, "")


@pytest.fixture(scope="module", params=["2.0", "2.1", "2.2", "2.3"])
def trainer(request, space, tmp_path_factory):
    """A cluster that serves the TrainJob of one version, and that version."""
    with installed(space, f"trainer-{request.param}"):
        with api(space, tmp_path_factory.mktemp("trainer")) as asked:
            eventually(lambda: serves(asked, TRAINERS[request.param]))
        yield space, request.param


@contextlib.contextmanager
def api(cluster, folder, **account):
    config = cluster.kubeconfig(folder / "kubeconfig", **account)
    with contextlib.closing(Api(access_to(str(config), "tests"), "hostagent/1")) as found:
        yield found


def serves(asked, field):
    """Whether the description of the cluster is as new as its kinds."""
    with contextlib.suppress(HostagentError):
        return TRAINERS[trainer_version(asked, "")] == field
    return False


def shapes(version):
    return {name: answer for name, answer in ANSWERS.items() if version != "2.0" or name in OF_2_0}


def test_a_train_job_is_stored_intact_by_the_version_that_it_is_for(trainer):
    cluster, version = trainer
    for answer in shapes(version).values():
        is_stored_intact(cluster, emit("trainjob", answer, options(trainer=version)))
    is_stored_intact(cluster, emit("trainjob", ANSWERS["the class"], options(trainer=version, image="", command=())))


def test_a_train_job_is_applied_by_kubectl(trainer):
    cluster, version = trainer
    text = emit("trainjob", ANSWERS["one of the class"], options(trainer=version))
    with gone_after(cluster, objects(text)):
        apply(cluster, text)


@pytest.fixture(scope="module")
def hosts(space):
    """Two healthy nodes with eight GPUs each, and what selects them."""
    names = ("kinds-a", "kinds-b")
    found = [Host(name, {HOSTNAME: name, MARK: "yes"}, time.time()) for name in names]
    gatecluster.make(space, Drawn(0, found, []))
    yield ["--node-selector", f"{MARK}=yes"]
    for name in names:
        space.ask("DELETE", f"/api/v1/nodes/{name}")


def gate(cluster, *arguments):
    """Exit code, standard output, and the error."""
    config = str(cluster.kubeconfig(Path(cluster.folder) / "gate.kubeconfig"))
    argv = ["gate", "--nodes", "2", "--gpus-per-node", "8", "--kubeconfig", config, "--namespace", SPACE, *arguments]
    ran = CliRunner().invoke(cli, argv, standalone_mode=False)
    if isinstance(ran.exception, HostagentError):
        return 2, ran.stdout, ran.exception.message
    if ran.exception:
        raise AssertionError(f"{ran.exception!r}") from ran.exception
    return ran.return_value, ran.stdout, ran.stderr


def test_the_command_line_writes_for_the_version_that_the_cluster_serves(trainer, hosts):
    cluster, version = trainer
    code, text, complaints = gate(cluster, *hosts, "--emit", "trainjob", "--name", "train", "--pin", "class")
    assert code == 0, complaints
    (job,) = objects(text)
    assert job["spec"].keys() & {*TRAINERS.values()} == {TRAINERS[version]}
    with gone_after(cluster, [job]):
        apply(cluster, text)
        assert lost(job, stored(cluster, job)) == []
    other = "2.1" if version == "2.0" else "2.0"
    code, text, complaints = gate(cluster, *hosts, "--emit", "trainjob", "--trainer", other)
    assert (code, text) == (2, "")
    assert f"found --trainer {other}" in complaints


def test_a_train_job_of_another_field_is_refused_before_it_is_sent_and_would_be_by_the_server(trainer, tmp_path):
    cluster, version = trainer
    others = [one for one, field in TRAINERS.items() if field != TRAINERS[version]]
    assert others
    with api(cluster, tmp_path) as asked:
        for other in others:
            with pytest.raises(
                HostagentError, match=f"found --trainer {other}, wanted {'2.2 or 2.3 or 2.4' if version >= '2.2' else version}"
            ):
                trainer_version(asked, other)
            (job,) = objects(emit("trainjob", ANSWERS["the class"], options(trainer=other)))
            refused = cluster.ask("POST", f"{path_of(job)}?fieldValidation=Strict&dryRun=All", job)
            assert (refused.status_code, f'unknown field "spec.{TRAINERS[other]}"' in refused.json()["message"]) == (400, True)
            dropped = cluster.admin("POST", f"{path_of(job)}?dryRun=All", job)
            assert TRAINERS[other] not in dropped["spec"], "a server that is not strict runs the job anywhere"


def test_the_served_version_of_trainer_is_found_by_an_account_without_rights(trainer, tmp_path):
    cluster, version = trainer
    token = cluster.token_of(SPACE, "submitter")
    assert cluster.ask("GET", PATHS["TrainJob"], token=token).status_code == 403
    with api(cluster, tmp_path, token=token) as asked:
        assert TRAINERS[trainer_version(asked, "")] == TRAINERS[version]
        assert trainer_version(asked, version) == version


def test_a_pod_with_what_a_train_job_changes_passes_validation(trainer):
    cluster, version = trainer
    for answer in shapes(version).values():
        (job,) = objects(emit("trainjob", answer, options(trainer=version)))
        spec, container = changes(job), job["spec"]["trainer"]
        node = {"name": "node", **{key: container[key] for key in ("image", "command", "env")}, "resources": container["resourcesPerNode"]}
        accepts_pod(cluster, {"containers": [node], **spec})


def changes(job):
    """Of a pod."""
    (one,) = next(job["spec"][field] for field in TRAINERS.values() if field in job["spec"])
    if "manager" in one:
        (replicated,) = one["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
        return replicated["template"]["spec"]["template"]["spec"]
    return one.get("spec") or {key: value for key, value in one.items() if key != "targetJobs"}


@pytest.fixture(scope="module", params=["0.15", "0.17", "0.19"])
def kueue(request, space):
    with installed(space, f"kueue-{request.param}"):
        yield space


def test_a_job_for_kueue_its_flavor_and_its_topology_are_stored_intact(kueue):
    for shape in _OF_KUEUE:
        is_stored_intact(kueue, emit("kueue", ANSWERS[shape], options()))


def test_further_jobs_for_kueue_apply_over_the_flavors_and_the_topology_of_earlier_ones(kueue):
    answers = [answered(nodes, pin="class", tolerations=tolerations) for nodes, tolerations in ((1, ()), (2, ()), (3, TOLERATIONS))]
    texts = [emit("kueue", answer, options(f"train-{number}")) for number, answer in enumerate(answers)]
    parts = {(one["kind"], one["metadata"]["name"]): one for text in texts for one in objects(text)}
    assert sorted(kind for kind, _ in parts) == ["Job"] * 3 + ["ResourceFlavor"] * 2 + ["Service"] * 3 + ["Topology"]
    with gone_after(kueue, parts.values()):
        for text in texts:
            apply(kueue, text)


def test_a_flavor_of_one_name_with_other_labels_would_be_refused(kueue):
    flavor = next(one for one in objects(emit("kueue", ANSWERS["the class"], options())) if one["kind"] == "ResourceFlavor")
    with gone_after(kueue, [flavor]):
        made = kueue.admin("POST", PATHS["ResourceFlavor"], flavor)
        made["spec"]["nodeLabels"]["example.com/zone"] = "a"
        refused = kueue.ask("PUT", f"{PATHS['ResourceFlavor']}/{flavor['metadata']['name']}", made)
        assert (refused.status_code, "immutable" in refused.text) == (422, True)


@pytest.fixture(scope="module")
def volcano(space):
    with installed(space, "volcano"):
        yield space


def test_a_job_of_volcano_is_stored_intact_and_its_pods_pass_validation(volcano):
    for answer in ANSWERS.values():
        text = emit("volcano", answer, options())
        is_stored_intact(volcano, text)
        (job,) = objects(text)
        accepts_pod(volcano, job["spec"]["tasks"][0]["template"]["spec"])


@pytest.mark.full
def test_the_newest_server_stores_all_of_them_intact(tmp_path):
    server = need_real("kubernetes-1.36/kube-apiserver", "bash tests/real/install_kubernetes.sh 1.36")
    with started(tmp_path, server=server) as newest, contextlib.ExitStack() as kinds:
        newest.admin("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        for folder in ("trainer-2.3", "kueue-0.19", "volcano"):
            kinds.enter_context(installed(newest, folder))
        for shape, answer in ANSWERS.items():
            for kind in ("indexed-job", "trainjob", "volcano", *(["kueue"] if shape in _OF_KUEUE else [])):
                is_stored_intact(newest, emit(kind, answer, options(trainer="2.3")))


@pytest.mark.parametrize("kind", ["indexed-job", "trainjob", "kueue", "volcano"])
def test_a_changed_document_would_be_seen(kind):
    """Of `lost`: each value of a document, when another one is stored in its place."""
    document = objects(emit(kind, ANSWERS["the class"], options(trainer="2.3")))[-1]
    assert lost(document, document) == []
    places = list(leaves(document))
    assert len(places) > 20
    for *above, last in places:
        changed = copy.deepcopy(document)
        part = changed
        for key in above:
            part = part[key]
        part[last] = "another"
        assert len(lost(document, changed)) == 1


def leaves(document, above=()):
    if isinstance(document, dict | list) and document:
        for key, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from leaves(value, (*above, key))
    else:
        yield above
