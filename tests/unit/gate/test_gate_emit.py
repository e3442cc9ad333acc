"""What a submitter gets for an answer: documents of Kubernetes, Trainer, Kueue and Volcano, and a script of Slurm. Nothing reads them here but YAML."""

import itertools
import shlex
import subprocess
from dataclasses import replace

import pytest
import yaml

from hostagent.core.yamlfile import parse_yaml
from hostagent.gate import Request, parse_candidate, place
from hostagent.gate.answer import KINDS
from hostagent.gate.emit import EmitError, Options, emit
from hostagent.gate.emit.trainer import TRAINERS
from tests.gate_summaries import NOW, summary

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
HOSTNAME = "kubernetes.io/hostname"
CLASS = "hostagent.dev/fabric-class"
KUBERNETES = [kind for kind in KINDS if kind != "sbatch"]
TOLERATION = {"key": "dedicated", "operator": "Equal", "value": "training", "effect": "NoSchedule"}
TAO = ("WORLD_SIZE", "NUM_GPU_PER_NODE", "NNODES", "NPROC_PER_NODE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")
TORCHRUN = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")


def answered(nodes=2, gpus=8, *, pin="nodes", backend="reports", changes=None, more=None, **request):
    """For the first `nodes` of four nodes; `changes` of their summaries, `more` fields of the answer."""
    candidates = [parse_candidate(summary(f"n{number}", changes), f"{number}.json") for number in range(4)]
    return replace(place(Request(nodes, gpus, **request), candidates, NOW, backend, pin), **(more or {}))


def options(**given):
    return Options(**{"image": "registry.example/train:1", "queue": "team-a", "trainer": "2.3", **given})


def emitted(kind, answer=None, **given):
    """The document, as YAML 1.1 and 1.2 read it alike."""
    text = emit(kind, answer or answered(pin="class" if kind == "kueue" else "nodes"), options(**given))
    document = yaml.safe_load(text)
    assert parse_yaml(text.encode()) == document
    return document


def refusal(kind, answer=None, **given):
    with pytest.raises(EmitError) as raised:
        emit(kind, answer or answered(), options(**given))
    return str(raised.value)


def objects(document):
    return {one["kind"]: one for one in (document["items"] if document["kind"] == "List" else [document])}


def pod(kind, answer=None, **given):
    """The pod spec of a document; of a TrainJob what it changes of one."""
    document = emitted(kind, answer, **given)
    if kind == "trainjob":
        return patched(document["spec"])
    job = objects(document)["Job"]["spec"]
    return (job["tasks"][0] if kind == "volcano" else job)["template"]["spec"]


def patched(spec):
    if "podSpecOverrides" in spec:
        return spec["podSpecOverrides"][0]
    if "podTemplateOverrides" in spec:
        return spec["podTemplateOverrides"][0]["spec"]
    (job,) = spec["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    return job["template"]["spec"]["template"]["spec"]


def environment(kind, answer=None, **given):
    """By name: a value, or the field of the pod."""
    document = emitted(kind, answer, **given)
    listed = document["spec"]["trainer"]["env"] if kind == "trainjob" else pod(kind, answer, **given)["containers"][0]["env"]
    names = [one["name"] for one in listed]
    assert len(names) == len(set(names)), "no name comes twice"
    return {one["name"]: one["value"] if "value" in one else one["valueFrom"]["fieldRef"]["fieldPath"] for one in listed}


@pytest.mark.parametrize("kind", KUBERNETES)
def test_pods_run_on_the_nodes_of_the_answer_alone(kind):
    answer = answered(pin="class" if kind == "kueue" else "nodes")
    assert pod(kind, answer)["affinity"]["nodeAffinity"] == answer.affinity["nodeAffinity"]


@pytest.mark.parametrize("kind", KUBERNETES)
def test_two_pods_of_a_job_never_share_a_node(kind):
    found = pod(kind)
    (term,) = found["affinity"]["podAntiAffinity"][REQUIRED]
    label = {
        "trainjob": {"jobset.sigs.k8s.io/jobset-name": "job", "jobset.sigs.k8s.io/replicatedjob-name": "node"},
        "volcano": {"volcano.sh/job-name": "job"},
    }.get(kind, {"batch.kubernetes.io/job-name": "job"})
    assert term == {"labelSelector": {"matchLabels": label}, "topologyKey": HOSTNAME}


@pytest.mark.parametrize("kind", KUBERNETES)
def test_a_job_of_one_node_avoids_no_pod(kind):
    assert list(pod(kind, answered(1, pin="class"))["affinity"]) == ["nodeAffinity"]


@pytest.mark.parametrize("kind", KUBERNETES)
def test_pods_have_the_tolerations_of_the_answer_and_none_where_it_has_none(kind):
    answer = answered(pin="class")
    assert "tolerations" not in pod(kind, answer)
    assert pod(kind, replace(answer, tolerations=(TOLERATION,)))["tolerations"] == [TOLERATION]


@pytest.mark.parametrize("kind", KUBERNETES)
def test_pods_ask_for_the_gpus_of_the_request(kind):
    answer = answered(gpus=5, pin="class")
    document = emitted(kind, answer)
    asked = document["spec"]["trainer"]["resourcesPerNode"] if kind == "trainjob" else pod(kind, answer)["containers"][0]["resources"]
    assert asked == {"limits": {"nvidia.com/gpu": "5"}}


@pytest.mark.parametrize(
    ("kind", "master", "index"),
    [
        ("indexed-job", "train-0.train", "batch.kubernetes.io/job-completion-index"),
        ("kueue", "train-0.train", "batch.kubernetes.io/job-completion-index"),
        ("volcano", "train-node-0.train", "volcano.sh/task-index"),
        ("trainjob", "train-node-0-0.train", "batch.kubernetes.io/job-completion-index"),
    ],
)
def test_processes_find_each_other_by_the_names_of_both_conventions(kind, master, index):
    rank = f"metadata.annotations['{index}']"
    values = ("2", "8", "2", "8", rank, master, "29500")
    torchrun = {} if kind == "trainjob" else dict(zip(TORCHRUN, ("2", "8", rank, master, "29500"), strict=True))
    wanted = {**dict(zip(TAO, values, strict=True)), **torchrun, "NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_0:1"}
    assert environment(kind, answered(pin="class"), name="train") == wanted


@pytest.mark.parametrize("kind", KUBERNETES)
def test_a_setting_reaches_the_container_as_it_is(kind):
    text = "a \"b\": $(HOME) $$ # - no\t| 'x'".replace("\t", " ")
    env = environment(kind, answered(pin="class", more={"env": {"NCCL_A": text, "NCCL_B": "no", "NCCL_C": "1e3"}}))
    assert env["NCCL_A"].replace("$$", "$") == text, "a kubelet makes $ of $$, and takes $(HOME) for a variable"
    assert "$(" not in env["NCCL_A"].replace("$$", "")
    assert (env["NCCL_B"], env["NCCL_C"]) == ("no", "1e3")


@pytest.mark.parametrize("kind", KINDS)
def test_settings_that_differ_from_node_to_node_are_left_out_and_named(kind):
    more = {"env_by_node": {"n0": {"NCCL_OWN": "a"}, "n1": {"NCCL_OWN": "b"}}}
    text = emit(kind, answered(pin="class" if kind == "kueue" else "nodes", more=more), options())
    assert [line for line in text.splitlines() if "NCCL_OWN" in line] == [
        "# Left out, because the nodes need different values: NCCL_OWN. 'hostagent gate --json' has them (env_by_node)."
    ]


@pytest.mark.parametrize("kind", KUBERNETES)
def test_the_hosts_interface_is_no_setting_of_a_pod(kind):
    answer = answered(pin="class" if kind == "kueue" else "nodes", more={"env": {"NCCL_SOCKET_IFNAME": "=ens3", "NCCL_NET": "IB"}})
    assert environment(kind, answer)["NCCL_NET"] == "IB"
    assert "NCCL_SOCKET_IFNAME" not in environment(kind, answer)
    assert "# NCCL_SOCKET_IFNAME is left out: " in emit(kind, answer, options())


@pytest.mark.parametrize("kind", [kind for kind in KUBERNETES if kind != "trainjob"])
def test_without_an_image_there_is_a_word_in_its_place(kind):
    assert pod(kind, answered(pin="class"), image="")["containers"][0]["image"] == "IMAGE"
    assert "# Put the job's image in the place of IMAGE." in emit(kind, answered(pin="class"), options(image=""))


def test_a_train_job_without_an_image_has_that_of_its_runtime():
    trainer = emitted("trainjob", image="", command=())["spec"]["trainer"]
    assert not trainer.keys() & {"image", "command"}


@pytest.mark.parametrize("kind", KUBERNETES)
def test_the_command_is_kept_word_by_word(kind):
    words = ["python", "-c", "print('a b')", "yes", "12", "", "-"]
    answer = answered(pin="class")
    document = emitted(kind, answer, command=tuple(words))
    found = document["spec"]["trainer"] if kind == "trainjob" else pod(kind, answer, command=tuple(words))["containers"][0]
    assert found["command"] == words


@pytest.mark.parametrize("kind", KUBERNETES)
def test_the_objects_have_a_namespace_only_where_one_is_given(kind):
    def spaces(**given):
        found = objects(emitted(kind, answered(pin="class"), **given))
        return {name: one["metadata"].get("namespace") for name, one in found.items() if name not in ("ResourceFlavor", "Topology")}

    assert set(spaces().values()) == {None}
    assert set(spaces(namespace="team-a").values()) == {"team-a"}


@pytest.mark.parametrize("kind", KUBERNETES)
@pytest.mark.parametrize(
    "given",
    [
        {"name": "1job"},
        {"name": "Job"},
        {"name": "a.b"},
        {"name": "a-"},
        {"name": ""},
        {"namespace": "a.b"},
        {"namespace": "-a"},
        {"queue": "A b"},
    ],
    ids=str,
)
def test_a_name_that_no_cluster_takes_is_refused(kind, given):
    (option,) = given
    assert f"--{option}" in refusal(kind, answered(pin="class"), **given)


@pytest.mark.parametrize(("kind", "longest"), [("indexed-job", 61), ("kueue", 61), ("volcano", 56), ("trainjob", 48)])
def test_the_name_of_the_last_pod_fits_into_a_label(kind, longest):
    answer = answered(pin="class")
    emitted(kind, answer, name="a" * longest)
    assert f"wanted {longest} at most" in refusal(kind, answer, name="a" * (longest + 1))


@pytest.mark.parametrize("kind", KUBERNETES)
def test_an_answer_that_names_no_nodes_is_refused(kind):
    assert "--pin nodes" in refusal(kind, answered(pin="class", more={"affinity": {}}))


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_cannot_be_placed_has_no_document(kind):
    assert "cannot be placed" in refusal(kind, answered(5))


@pytest.mark.parametrize("kind", KINDS)
def test_the_document_says_until_when_it_holds_and_what_was_not_asked(kind):
    answer = answered(pin="class" if kind == "kueue" else "nodes", more={"not_asked": ("ResourceQuota", "LimitRange"), "valid_until": 0.0})
    text = emit(kind, answer, options())
    assert "# By hostagent gate. Its answer holds until 1970-01-01T00:00:00Z.\n# Not asked: ResourceQuota, LimitRange.\n" in text


@pytest.mark.parametrize("kind", KUBERNETES)
def test_a_document_for_a_class_says_that_its_settings_are_of_the_chosen_nodes(kind):
    remark = "# NCCL_IB_HCA, NCCL_NET: of the chosen nodes; other nodes of their class may need other settings.\n"
    assert remark in emit(kind, answered(pin="class"), options())
    assert "other settings" not in emit(kind, answered(pin="class", more={"env": {}}), options())
    assert "other settings" not in emit(kind, answered(), options())


@pytest.mark.parametrize("kind", KINDS)
def test_one_answer_gives_one_text(kind):
    answer = answered(pin="class" if kind == "kueue" else "nodes")
    assert len({emit(kind, answer, options()) for _ in range(3)}) == 1


def unlabelled(gpus):
    """Nodes that are named by a field, because one of them has no label with its name."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in ("n0", "n1")]
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
    return answered(gpus=gpus, more={"affinity": affinity})


@pytest.mark.parametrize("kind", ["indexed-job", "volcano", "trainjob"])
def test_a_node_without_the_label_of_its_name_that_two_pods_could_share_is_refused(kind):
    assert HOSTNAME in refusal(kind, unlabelled(4))
    assert pod(kind, unlabelled(5))["affinity"]["nodeAffinity"] == unlabelled(5).affinity["nodeAffinity"]


def test_an_indexed_job_has_a_pod_for_each_node_that_others_find_before_it_is_ready():
    found = objects(emitted("indexed-job", answered(3), name="train"))
    assert found["Service"]["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"batch.kubernetes.io/job-name": "train"},
    }
    spec = found["Job"]["spec"]
    assert {key: spec[key] for key in ("completions", "parallelism", "completionMode", "backoffLimit")} == {
        "completions": 3,
        "parallelism": 3,
        "completionMode": "Indexed",
        "backoffLimit": 0,
    }
    assert (spec["template"]["spec"]["subdomain"], found["Service"]["metadata"]["name"]) == ("train", "train")


@pytest.mark.parametrize("kind", ["indexed-job", "kueue", "volcano"])
def test_a_pod_runs_once_with_room_in_dev_shm(kind):
    found = pod(kind, answered(pin="class"))
    assert found["restartPolicy"] == "Never"
    assert found["volumes"] == [{"name": "shm", "emptyDir": {"medium": "Memory"}}]
    assert found["containers"][0]["volumeMounts"] == [{"name": "shm", "mountPath": "/dev/shm"}]


def test_kueue_places_a_waiting_job_within_one_class():
    answer = answered(pin="class")
    found = objects(emitted("kueue", answer))
    job = found["Job"]
    assert job["spec"]["suspend"] is True
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team-a"}
    assert job["spec"]["template"]["metadata"]["annotations"] == {"kueue.x-k8s.io/podset-required-topology": CLASS}
    assert found["Topology"]["spec"]["levels"] == [{"nodeLabel": CLASS}, {"nodeLabel": HOSTNAME}]
    flavor = found["ResourceFlavor"]
    assert flavor["spec"]["topologyName"] == found["Topology"]["metadata"]["name"]
    assert flavor["spec"]["nodeLabels"].items() <= answer.selector.items()
    assert flavor["spec"]["nodeLabels"][CLASS] == answer.fabric_class


def test_a_flavor_is_named_for_all_of_its_labels_because_they_can_never_change():
    asked = [
        answered(nodes, pin="class", changes=changes) for nodes, changes in itertools.product((1, 2), ({}, {"fabric.class": "1-other"}))
    ]
    flavors = [objects(emitted("kueue", one))["ResourceFlavor"] for one in asked]
    assert len({one["metadata"]["name"] for one in flavors}) == 4
    selected = answered(pin="class", more={"selector": {**asked[2].selector, "zone": "a"}}, node_selector=("zone=a",))
    assert objects(emitted("kueue", selected))["ResourceFlavor"] == flavors[2]


def test_kueue_takes_the_prefix_of_the_labels():
    labels = {f"acme.example/{name}": "true" for name in ("ready", "multi-node-ready")} | {"acme.example/fabric-class": "1-abc"}
    found = objects(emitted("kueue", answered(pin="class", more={"selector": labels})))
    assert found["Topology"]["spec"]["levels"][0] == {"nodeLabel": "acme.example/fabric-class"}
    assert (found["Topology"]["metadata"]["name"], found["ResourceFlavor"]["metadata"]["name"]) == ("acme", "acme-multi-node-1-abc")


def test_a_job_for_kueue_without_a_queue_goes_into_the_default_one():
    job = objects(emitted("kueue", answered(pin="class"), queue=""))["Job"]
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "default"}


@pytest.mark.parametrize("missing", ["ready", "multi-node-ready", "fabric-class"])
def test_kueue_needs_the_labels_of_a_flavor_on_all_nodes(missing):
    selector = {key: value for key, value in answered(pin="class").selector.items() if key != f"hostagent.dev/{missing}"}
    selector |= {"example.com/fabric-class": "a"}
    asked = answered(pin="class", more={"selector": selector}, node_selector=("example.com/fabric-class=a",))
    assert "found no common value of the label" in refusal("kueue", asked)


def test_kueue_is_refused_nodes_that_two_pods_could_share():
    assert "more than half" in refusal("kueue", answered(gpus=4, pin="class"))
    emitted("kueue", answered(1, 4, pin="class"))


def test_volcano_starts_all_pods_or_none_and_ends_with_the_first_that_fails():
    spec = emitted("volcano", answered(3))["spec"]
    assert (spec["minAvailable"], spec["tasks"][0]["replicas"], spec["schedulerName"], spec["queue"]) == (3, 3, "volcano", "team-a")
    assert spec["plugins"] == {"svc": ["--publish-not-ready-addresses=true"], "env": []}
    assert spec["policies"] == [{"events": ["PodFailed", "PodEvicted"], "action": "AbortJob"}]
    assert "queue" not in emitted("volcano", queue="")["spec"]


@pytest.mark.parametrize("version", TRAINERS)
def test_each_version_of_trainer_gets_its_own_field_alone(version):
    spec = emitted("trainjob", answered(pin="class"), trainer=version)["spec"]
    assert spec.keys() & {*TRAINERS.values()} == {TRAINERS[version]}
    assert (spec["runtimeRef"], spec["trainer"]["numNodes"], spec["trainer"]["numProcPerNode"]) == ({"name": "torch-distributed"}, 2, 8)


def test_runtime_patches_are_ours_and_of_the_job_that_trains():
    (patch,) = emitted("trainjob", trainer="2.2")["spec"]["runtimePatches"]
    assert patch["manager"] == "hostagent.dev/gate"
    assert [one["name"] for one in patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]] == ["node"]


def test_trainer_2_0_gets_the_labels_as_its_node_selector():
    answer = answered(pin="class")
    assert pod("trainjob", answer, trainer="2.0") == {"targetJobs": [{"name": "node"}], "nodeSelector": dict(answer.selector)}


def test_trainer_2_0_can_name_one_node():
    assert pod("trainjob", answered(1), trainer="2.0")["nodeSelector"][HOSTNAME] == "n0"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (answered(), f"an affinity to {HOSTNAME} with several values"),
        (unlabelled(8), "an affinity to nodes by name"),
        (answered(gpus=4, pin="class"), "no pod anti-affinity"),
    ],
    ids=["several nodes", "nodes by a field", "nodes that two pods could share"],
)
def test_what_trainer_2_0_cannot_carry_is_refused(answer, why):
    assert why in refusal("trainjob", answer, trainer="2.0")
    emitted("trainjob", replace(answer, request=Request(2, 5)), trainer="2.1")


def test_a_version_of_trainer_that_was_not_tried_is_marked():
    assert "# Trainer 2.4 was not tried" in emit("trainjob", answered(), options(trainer="2.4"))
    assert "not tried" not in emit("trainjob", answered(), options(trainer="2.3"))


def test_a_train_job_says_what_it_puts_in_the_place_of_its_runtimes():
    def remark(trainer, **more):
        return [
            line for line in emit("trainjob", answered(pin="class", more=more), options(trainer=trainer)).splitlines() if "place of" in line
        ]

    assert remark("2.1", tolerations=(TOLERATION,)) == ["# In the place of the runtime's affinity and tolerations."]
    assert remark("2.3") == ["# In the place of the runtime's affinity."]
    assert remark("2.0") == []


@pytest.mark.parametrize("version", ["", "2.5", "2", "v2.1", "2.0.1"])
def test_another_version_of_trainer_is_refused_with_those_that_there_are(version):
    assert "2.0, 2.1, 2.2, 2.3, 2.4" in refusal("trainjob", trainer=version)


def test_settings_that_trainer_keeps_for_itself_are_refused():
    assert "PET_NNODES" in refusal("trainjob", answered(more={"env": {"PET_NNODES": "9"}}))


def test_a_runtime_that_no_cluster_can_have_is_refused():
    assert "--runtime" in refusal("trainjob", runtime="Torch Distributed")


def test_documents_for_a_cluster_are_refused_for_nodes_of_slurm_and_the_other_way_round():
    for kind in KUBERNETES:
        assert "sbatch" in refusal(kind, answered(more={"backend": "slurm"}))
    assert "indexed-job" in refusal("sbatch", answered(more={"backend": "kubernetes"}))


def directives(text):
    lines = text.splitlines()
    assert lines[0] == "#!/bin/bash"
    marked = [line for line in lines if line.startswith("#SBATCH ")]
    first_command = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    assert [line for line in lines[:first_command] if line.startswith("#SBATCH ")] == marked, "Slurm reads none behind a command"
    return dict(line.removeprefix("#SBATCH --").split("=", 1) for line in marked)


def test_a_batch_script_names_nodes_gpus_partition_and_reservation():
    answer = answered(partition="gpu", reservation="tuesday")
    assert directives(emit("sbatch", answer, options(name="train"))) == {
        "job-name": "train",
        "nodes": "2",
        "ntasks-per-node": "1",
        "gres": "gpu:8",
        "nodelist": "n0,n1",
        "partition": "gpu",
        "reservation": "tuesday",
    }
    assert directives(emit("sbatch", answered(), options())).keys() == {"nodes", "ntasks-per-node", "gres", "nodelist"}


def test_a_batch_script_hands_settings_and_command_over_as_they_are():
    value, words = "a 'b' $(date) \"c\"; #d", ("printf", "%s\\n", "a b", "$NCCL_A", "'")
    text = emit("sbatch", answered(more={"env": {"NCCL_A": value}}), options(command=words))
    script = f'srun() {{ printf \'%s\\0\' "$@" "$NCCL_A"; }}\n{text}'
    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\0") == [*words, value, ""]
    assert "srun" not in emit("sbatch", answered(), options(command=()))


@pytest.mark.parametrize("name", ["a b", "a\n#SBATCH --exclusive", "a#b", 'a"b', "n[1-4]", "-n"])
def test_a_name_that_no_directive_can_carry_is_refused(name):
    assert "#SBATCH" in refusal("sbatch", answered(more={"nodes": (name, "n1")}))
    assert "partition" in refusal("sbatch", answered(partition=name))
    assert "reservation" in refusal("sbatch", answered(reservation=name))
    assert shlex.quote(name) != name or name == "-n", "a shell would see something else there, too"


def test_a_batch_script_of_a_class_is_refused():
    assert "--pin nodes" in refusal("sbatch", answered(pin="class"))
