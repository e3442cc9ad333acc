"""The kubelet judges the placement model: its own managers in one process for thousands of cases, and its binary for a sample."""

import copy
import json
import subprocess
import sys
from collections import Counter

from hostagent.facts.unread import Unread
from hostagent.placement import place, pod_of
from tests.placement_cases import cases, node_of_case
from tests.placement_rows import ROWS
from tests.real.conftest import need_real

HOW = "tests/real/install_kubelet.sh"
SEED, COUNT = 20261123, 2200
UNKNOWN = "example.com/unknown"


def verdicts(asked):
    """What the kubelet's own managers answer."""
    judge = need_real("kubelet-1.35/judge", HOW)
    text = "".join(f"{json.dumps(case)}\n" for case in asked)
    run = subprocess.run([judge], input=text, capture_output=True, text=True, check=True, timeout=600)
    return [json.loads(line) for line in run.stdout.splitlines()]


def by_kubelet(verdict, number):
    """(admitted, reason, NUMA nodes) of one pod."""
    if verdict["start"]:
        return False, "KubeletNotStarting", ()
    if number >= len(verdict["pods"]):
        return False, "KubeletPanic" if verdict["panic"] else "no answer", ()
    pod = verdict["pods"][number]
    nodes = {node for name, hinted in pod["hinted"].items() if hinted for node in pod["affinity"].get(name, ())}
    return pod["admitted"], pod["reason"], tuple(sorted(nodes))


def by_model(case):
    pods = tuple(pod_of(pod, "p") for pod in case["pods"])
    return [(one.admitted, one.reason, one.numa_nodes) for one in place(node_of_case(case), pods, fixes=False)]


def containers(pod):
    return pod["spec"]["containers"] + pod["spec"]["initContainers"]


def asks_unknown(pod):
    return any(UNKNOWN in one["resources"]["limits"] for one in containers(pod))


def reuses_devices(pod):
    """Which of an init container's devices the next one takes is the order of a map in the kubelet."""
    plain = [one for one in pod["spec"]["initContainers"] if "restartPolicy" not in one]
    return any("/" in name for one in plain for name in one["resources"]["limits"])


def differences(case, verdict):
    """Until the first pod after which the two no longer stand on the same ground."""
    for number, (pod, answer) in enumerate(zip(case["pods"], by_model(case), strict=True)):
        wanted = by_kubelet(verdict, number)
        if asks_unknown(pod) and wanted[1] not in ("KubeletNotStarting", "KubeletPanic"):
            # the kubelet starts it without what it asks for; the model says that no scheduler sends it
            if answer[0] is not False or answer[1]:
                yield number, wanted, answer
            return
        if answer != wanted:
            yield number, wanted, answer
        if not wanted[0] and wanted[1].startswith("Kubelet"):
            return
        if answer != wanted or (wanted[0] and reuses_devices(pod)):
            return


def test_the_kubelets_managers_and_the_model_agree(capsys):
    asked = cases(SEED, COUNT)
    answers = verdicts(asked)
    assert len(answers) == len(asked)
    found = [(place, *one) for place, (case, verdict) in enumerate(zip(asked, answers, strict=True)) for one in differences(case, verdict)]
    reasons = Counter(by_kubelet(verdict, number)[1] or "admitted" for verdict in answers for number in range(len(verdict["pods"]) or 1))
    with capsys.disabled():
        told = f"{len(asked)} cases, seed {SEED}, {sum(reasons.values())} pods ({dict(reasons)}), {len(found)} differences"
        sys.stdout.write(f"\nplacement: {told}\n")
    assert not found, [(asked[place], number, wanted, answer) for place, number, wanted, answer in found[:3]]
    wanted = {
        "admitted",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
        "SMTAlignmentError",
        "OutOfcpu",
        "OutOfmemory",
        "KubeletPanic",
    }
    assert wanted <= set(reasons)
    assert any(verdict["start"] for verdict in answers)


def test_many_nodes_agree():
    """More nodes than the model looks at in every set, few enough for the kubelet. What the model does not know it says."""
    asked = cases(SEED + 1, 60, nodes=(9, 10), few=True)
    told = [case for case in asked if not any(isinstance(value, Unread) for answer in by_model(case) for value in answer)]
    assert len(told) > len(asked) * 0.7
    assert not [one for case, verdict in zip(told, verdicts(told), strict=True) for one in differences(case, verdict)]


def test_what_was_seen_is_what_the_kubelets_managers_answer():
    asked = [case for case, _ in ROWS.values()]
    for (name, (case, wanted)), verdict in zip(ROWS.items(), verdicts(copy.deepcopy(asked)), strict=True):
        answers = [by_kubelet(verdict, number) for number in range(len(case["pods"]))]
        assert [" ".join(["ok", *map(str, nodes)]) if admitted else reason for admitted, reason, nodes in answers] == wanted, name
