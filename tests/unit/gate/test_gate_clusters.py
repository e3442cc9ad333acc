"""What a candidate of a cluster has more than one of a file: free GPUs, a heartbeat, messages, labels. And which options belong to which backend."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hostagent.core.errors import HostagentError
from hostagent.gate import Request, parse_candidate
from hostagent.gate.answer import Reason
from hostagent.gate.placing import place
from hostagent.gate.request import FieldError
from hostagent.gate.text import render_answer
from tests.gate_summaries import NOW, summary

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
CORDONED = Reason("Cordoned", "it is cordoned", "cordoned", "open")
LABELS = {
    "hostagent.dev/ready": "true",
    "hostagent.dev/multi-node-ready": "true",
    "hostagent.dev/gpu-product": "NVIDIA-H100-80GB-HBM3",
    "hostagent.dev/fabric-class": summary()["fabric"]["class"],
}


def node(name="n1", changes=None, **more):
    return replace(parse_candidate(summary(name, changes)), **more)


def answered(*candidates, nodes=1, gpus=8, pin="nodes", **asked):
    return place(Request(nodes, gpus, **asked), candidates, NOW, "kubernetes", pin)


def reasons(one, **asked):
    return [(reason.code, reason.message) for refused in answered(one, **asked).refused for reason in refused.reasons]


def expressions(answer):
    terms = answer.affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return [{one["key"]: one["values"] for one in (*term.get("matchExpressions", ()), *term.get("matchFields", ()))} for term in terms]


@pytest.mark.parametrize(
    ("free", "message"), [(0, "0 of its 8 GPUs are free"), (1, "1 of its 8 GPUs is free"), (-2, "0 of its 8 GPUs are free")]
)
def test_too_few_free_gpus_refuse(free, message):
    assert reasons(node(free_gpus=free)) == [("NoFreeGpus", message)]


@pytest.mark.parametrize("free", [8, None])
def test_enough_free_gpus_and_none_that_were_asked_refuse_nothing(free):
    assert reasons(node(free_gpus=free)) == []


def test_a_node_with_too_few_gpus_is_not_called_busy():
    assert [code for code, _ in reasons(node(changes={"gpus.count": 4}, free_gpus=0))] == ["TooFewGpus"]


def test_of_a_node_without_a_summary_only_what_the_cluster_says_counts():
    own = (Reason("NoSummary", "it has no summary", "none", "a summary"), CORDONED)
    assert [code for code, _ in reasons(replace(node(), has_summary=False, own_reasons=own, observed_at=None), exclude=("n1",))] == [
        "Excluded",
        "NoSummary",
        "Cordoned",
    ]


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ((None, None), "it has no heartbeat"),
        ((NOW - 1200, NOW - 300), "its last heartbeat is 20 min old: its agent may have ended"),
        ((NOW + 400, NOW + 1300), "it was observed 7 min in the future: its clock or the API server's is wrong"),
    ],
)
def test_a_heartbeat_has_an_age(times, message):
    assert reasons(node(observed_at=times[0], valid_until=times[1], clock="heartbeat")) == [("Stale", message)]


def test_the_condition_says_why_a_verdict_is_bad():
    bad = node(
        changes={"verdict": {"single_node": "not_ready", "multi_node": "not_ready"}}, single_why="GPU 4 is lost", multi_why="mlx5_0 is down"
    )
    assert reasons(bad) == [("NotReady", "GPU 4 is lost")]
    assert ("MultiNodeNotReady", "mlx5_0 is down") in reasons(bad, nodes=2)


class TestLabels:
    def test_the_affinity_has_the_names_and_the_labels_of_the_nodes(self):
        first, second = (node(name, labels={**LABELS, "kubernetes.io/hostname": f"host-{name}"}) for name in ("n1", "n2"))
        answer = answered(first, second, nodes=2)
        assert expressions(answer) == [
            {**{key: [value] for key, value in LABELS.items()}, "kubernetes.io/hostname": ["host-n1", "host-n2"]}
        ]
        assert answer.selector == LABELS

    def test_with_pin_class_it_has_the_labels_alone(self):
        answer = answered(node(labels={**LABELS, "kubernetes.io/hostname": "n1"}), pin="class")
        del (wanted := {key: [value] for key, value in LABELS.items()})["hostagent.dev/multi-node-ready"]
        assert expressions(answer) == [wanted]

    def test_with_pin_class_a_node_without_a_class_is_refused(self):
        unlabelled = {key: value for key, value in LABELS.items() if "class" not in key}
        with pytest.raises(HostagentError, match=r"found no label .* on all of n1"):
            answered(node(labels=unlabelled), pin="class")

    def test_with_pin_class_two_classes_are_refused(self):
        other = node("n2", labels={**LABELS, "hostagent.dev/fabric-class": "1-0123456789ab"})
        with pytest.raises(HostagentError, match=r"found 2 values of the label .* on n1, n2"):
            answered(node(labels=LABELS), other, nodes=2, pin="class")

    def test_with_pin_class_a_refused_node_of_the_same_labels_is_named(self):
        stale = node("n2", observed_at=NOW - 1200, valid_until=NOW - 300, clock="heartbeat", labels=LABELS)
        assert answered(node(labels=LABELS), stale, pin="class").warnings == (
            "n2: refused, but with the same labels: by labels alone the job may get it",
        )
        busy = node("n2", free_gpus=0, labels=LABELS)
        assert answered(node(labels=LABELS), busy, pin="class").warnings == ()

    def test_labels_that_are_off_are_in_neither(self):
        answer = answered(node(labels={"kubernetes.io/hostname": "n1"}))
        assert (answer.selector, expressions(answer)) == ({}, [{"kubernetes.io/hostname": ["n1"]}])
        assert "the nodes have no labels of hostagent.dev" in answer.warnings[0]

    def test_a_node_without_the_kubelets_label_is_named_by_its_field(self):
        answer = answered(node("n1", labels=LABELS), node("n2", labels={**LABELS, "kubernetes.io/hostname": "n2"}), nodes=2)
        assert [one["metadata.name"] for one in expressions(answer)] == [["n1"], ["n2"]]

    def test_the_jobs_own_selector_is_in_both(self):
        answer = answered(node(labels=LABELS), node_selector=("pool=train",))
        assert (answer.selector["pool"], expressions(answer)[0]["pool"]) == ("train", ["train"])


def test_a_selector_that_does_not_carry_the_whole_request_says_so(tmp_path):
    for name in ("n1", "n2", "n3"):
        (tmp_path / f"{name}.json").write_text(json.dumps({**summary(name), "observed_at": 1e9, "valid_until": 4_102_444_800.0}))
    done = gate("--reports", tmp_path, "--emit", "selector", "--exclude", "n1")
    assert json.loads(done.stdout)["hostagent.dev/ready"] == "true"
    assert "n1: refused, but with the same labels" in done.stderr
    assert "no label of a node carries --exclude" in done.stderr


def test_an_answer_holds_as_long_as_the_least_of_its_nodes():
    answer = answered(node("n1", {"valid_until": NOW + 100}), node("n2", {"valid_until": NOW + 50}), nodes=2)
    assert (answer.valid_until, answer.gpus) == (NOW + 50, {"n1": 8, "n2": 8})
    assert answered(node(observed_at=NOW - 10), max_age_s=60).valid_until == NOW + 50
    assert answered(node("n1", {"valid_until": NOW + 100}), max_age_s=86400).valid_until == NOW + 100
    assert answered(node("n1", {"valid_until": NOW - 1, "observed_at": NOW - 60}), max_age_s=90).valid_until == NOW + 30


def test_a_refusal_of_a_cluster_names_its_own_next_step():
    answer = answered(node(changes={"verdict.single_node": "not_ready"}))
    assert "hostagent kubernetes why n1" in render_answer(answer, "text")
    assert "fleet DIR" not in render_answer(answer, "text")


def test_a_message_that_both_verdicts_have_is_printed_once():
    bad = node(
        changes={"verdict": {"single_node": "not_ready", "multi_node": "not_ready"}}, single_why="GPU 4 is lost", multi_why="GPU 4 is lost"
    )
    text = render_answer(answered(bad, nodes=2), "text")
    assert text.count("GPU 4 is lost") == 1


@pytest.mark.parametrize(
    ("field", "value"), [("tolerations", "a b"), ("tolerations", "gpu:Never"), ("node_selector", "pool"), ("node_selector", "=x")]
)
def test_a_toleration_or_selector_that_the_api_server_refuses_is_a_mistake(field, value):
    with pytest.raises(FieldError, match=field):
        Request(1, 8, **{field: (value,)})


def gate(*words, **environment):
    argv = [HOSTAGENT, "gate", "--nodes", "2", "--gpus-per-node", "8", *map(str, words)]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=60, env={"PATH": "/nonexistent", "COLUMNS": "300", **environment}
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_with_nothing_at_hand_the_three_ways_are_named(tmp_path):
    done = gate("--bin-dir", tmp_path, HOME=str(tmp_path))
    assert done.returncode == 2
    assert all(way in done.stderr for way in ("--reports DIR", "--kubeconfig FILE", "scontrol on PATH"))


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--backend", "reports"), "wanted --reports DIR"),
        (("--reports", ".", "--toleration", "a"), "wanted --backend kubernetes"),
        (("--reports", ".", "--kubeconfig", "x"), "wanted --backend kubernetes"),
        (("--reports", ".", "--partition", "x"), "wanted --backend slurm"),
        (("--backend", "kubernetes", "--reports", "."), "wanted --backend reports or --backend slurm"),
        (("--backend", "kubernetes", "--emit", "sbatch"), "found --emit sbatch with the backend kubernetes"),
        (("--backend", "slurm", "--emit", "indexed-job"), "wanted --emit sbatch or env"),
        (("--backend", "slurm", "--pin", "class", "--emit", "sbatch"), "wanted --pin nodes"),
        (("--reports", ".", "--image", "x"), "without --emit indexed-job"),
        (("--reports", ".", "--emit", "affinity", "--trainer", "2.2"), "without --emit trainjob"),
        (("--reports", ".", "reports"), "found the words 'reports'"),
        (("--reports", ".", "--pin", "class", "--exclude", "n1"), "found --exclude and --pin class"),
        (("--reports", ".", "--emit", "kueue", "--driver", "580"), "found --driver and --emit kueue"),
        (("--reports", ".", "--pin", "class", "--host-nccl"), "found --host-nccl and --pin class"),
        (("--reports", ".", "--pin", "class", "--require-coverage", "full"), "found --require-coverage and --pin class"),
        (("--reports", ".", "--pin", "class", "--max-age", "60"), "found --max-age and --pin class"),
        (("--reports", ".", "--emit", "selector", "--host-nccl"), "found --emit selector and --host-nccl"),
        (("--reports", ".", "--emit", "kueue", "--pin", "nodes"), "found --pin nodes and --emit kueue"),
        (("--reports", ".", "--emit", "indexed-job", "--name", "A_B"), "found --name 'A_B'"),
        (("--reports", ".", "--emit", "trainjob"), "found no --trainer"),
        (("--reports", ".", "--emit", "trainjob", "--trainer", "1.9"), "found --trainer 1.9"),
        (("--reports", ".", "--emit", "indexed-job", "--image", ""), "found --image '', wanted a value"),
        (("--kubeconfig", ""), "found --kubeconfig '', wanted a value"),
        (("--backend", "kubernetes", "--toleration", "a b"), "found --toleration"),
        (("--backend", "kubernetes", "--node-selector", "pool"), "found --node-selector"),
        (("--backend", "kubernetes", "--node-selector", ""), "found --node-selector '', wanted a value"),
    ],
)
def test_an_option_that_does_not_fit_is_a_mistake(words, wanted, tmp_path):
    done = gate(*words, HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert wanted in done.stderr
