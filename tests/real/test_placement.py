"""The kubelet judges the placement model: its own managers in one process for thousands of cases, and its binary for a sample."""

import copy
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.kubelet.placement import place, pods_in
from hostagent.domains.kubelet.read_allocations import devices_of
from hostagent.facts.cpulist import format_cpulist
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
    pods = tuple(pods_in(pod, "p")[0] for pod in case["pods"])
    return [(one.admitted, one.reason, one.numa_nodes) for one in place(node_of_case(case), pods, fixes=False)]


def containers(pod):
    return pod["spec"]["containers"] + pod["spec"]["initContainers"]


def asks_unknown(pod):
    return any(UNKNOWN in one["resources"]["limits"] for one in containers(pod))


def takes_some_of_the_reusable(pod):
    """A container that takes fewer devices than init containers had before it: which ones is the order of a map in the kubelet."""
    reusable = Counter()
    for at, one in enumerate(pod["spec"]["initContainers"] + pod["spec"]["containers"]):
        is_init = at < len(pod["spec"]["initContainers"]) and "restartPolicy" not in one
        for name, size in one["resources"]["limits"].items():
            if "/" in name and 0 < int(size) < reusable[name]:
                return True
            if "/" in name:
                reusable[name] = int(size) if is_init else 0
    return False


def differences(case, verdict):
    """Until the first pod after which the two no longer stand on the same ground."""
    for number, (pod, answer) in enumerate(zip(case["pods"], by_model(case), strict=True)):
        wanted = by_kubelet(verdict, number)
        if wanted[1].startswith("Kubelet"):
            if answer != wanted:
                yield number, wanted, answer
            return
        if takes_some_of_the_reusable(pod):
            return
        if asks_unknown(pod):
            # the kubelet starts it without what it asks for; the model says that no scheduler sends it
            if answer[0] is not False or answer[1]:
                yield number, wanted, answer
            return
        if answer != wanted:
            yield number, wanted, answer
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


# the kubelet binary


INSIDE = Path(__file__).parent / "placement_inside.py"
SECONDS = 60  # a busy machine


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_machine(case, folder):
    """The case's machine below `folder`, as sysfs and /proc/meminfo show it."""
    rows = case["nodes"]
    cpus = sorted(cpu for row in rows for core in row["cores"] for cpu in core["cpus"])
    for part, numbers in (("node", [row["id"] for row in rows]), ("cpu", cpus)):
        for name in ("online", "possible", "present"):
            put(folder / part / name, f"{format_cpulist(numbers)}\n")
    put(
        folder / "meminfo",
        f"MemTotal: {sum(row['memory'] for row in rows) // 1024} kB\nMemFree: 1 kB\nMemAvailable: 1 kB\nSwapTotal: 0 kB\nHugepagesize: 2048 kB\n",
    )
    for row in rows:
        here = folder / "node" / f"node{row['id']}"
        put(here / "meminfo", f"Node {row['id']} MemTotal: {row['memory'] // 1024} kB\nNode {row['id']} MemFree: 1 kB\n")
        put(here / "distance", " ".join(map(str, row["distances"])) + "\n")
        put(here / "cpulist", f"{format_cpulist([cpu for core in row['cores'] for cpu in core['cpus']])}\n")
        for size, pages in row["hugepages"].items():
            put(here / f"hugepages/hugepages-{size}kB/nr_hugepages", f"{pages}\n")
        for core in row["cores"]:
            for cpu in core["cpus"]:
                for top in (here, folder / "cpu"):
                    put(top / f"cpu{cpu}" / "topology" / "core_id", f"{core['cpus'][0]}\n")
                    put(top / f"cpu{cpu}" / "topology" / "physical_package_id", f"{core['socket']}\n")
                    put(top / f"cpu{cpu}" / "topology" / "thread_siblings_list", f"{format_cpulist(core['cpus'])}\n")
                    put(top / f"cpu{cpu}" / "online", "1\n")
    return folder


def configuration(case):
    fixed = {"reservedSystemCPUs": case["reserved_cpus"]} if case["reserved_cpus"] else {}
    reserved = {name: size for name, size in case["reserved"].items() if not (fixed and name == "cpu")}
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "topologyManagerPolicy": case["policy"],
        "topologyManagerScope": case["scope"], "topologyManagerPolicyOptions": case["options"] if case["policy"] != "none" else {},
        "cpuManagerPolicy": case["cpu_policy"], "cpuManagerPolicyOptions": case["cpu_options"], "memoryManagerPolicy": case["memory_policy"],
        "reservedMemory": [{"numaNode": row["node"], "limits": row["limits"]} for row in case["reserved_memory"]], "systemReserved": reserved,
        "evictionHard": {"nodefs.available": "1%"},
        "featureGates": {"CPUManagerPolicyAlphaOptions": True}, "failCgroupV1": False, "cgroupsPerQOS": False, "enforceNodeAllocatable": [],
        "localStorageCapacityIsolation": False, "staticPodPath": "/var/lib/k/pods", "fileCheckFrequency": "100ms", "readOnlyPort": 10255,
        "containerRuntimeEndpoint": "unix:///var/lib/runtime.sock", "failSwapOn": False, "maxPods": case["max_pods"], **fixed,
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}}, "authorization": {"mode": "AlwaysAllow"},
    }  # fmt: skip


def by_binary(case, folder):
    """[phase, reason] of each pod as the kubelet itself has it, what podresources says, and the end of the log."""
    programs = {name: need_real(f"kubelet-1.35/{name}", HOW) for name in ("kubelet", "runtime")}
    pods = copy.deepcopy(case["pods"])
    for pod in pods:
        pod["apiVersion"] = "v1"
        for one in containers(pod):
            one["image"] = "example.com/image"
    files = {"/var/lib/k/config.json": json.dumps(configuration(case))}
    told = {
        **programs,
        "machine": str(write_machine(case, folder / "m")),
        "files": files,
        "devices": case["devices"],
        "pods": pods,
        "seconds": SECONDS,
    }
    put(folder / "case.json", json.dumps(told))
    words = ["unshare", "--mount", "--net", "--propagation", "private", sys.executable, "-I", str(INSIDE), str(folder)]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    result = json.loads((folder / "result.json").read_text())
    return result["pods"], result["devices"], (folder / "log").read_text(errors="replace")[-3000:]


def as_static_pod(answer):
    """What the kubelet shows of the model's answer: a static pod is critical, so that one without room is an unexpected error."""
    admitted, reason, _ = answer
    if reason.startswith("Kubelet"):
        return ["exit", ""]
    return ["started", ""] if admitted else ["Failed", "UnexpectedAdmissionError" if reason.startswith("OutOf") else reason]


def is_for_the_binary(case):
    """Of valid pods alone, and without huge pages: their total comes from a directory that is not made here."""
    pods = case["pods"]
    return not case["nodes"][0]["hugepages"] and not any(
        asks_unknown(pod) or "resources" in pod["spec"] or takes_some_of_the_reusable(pod) for pod in pods
    )


GENERATED = [case for case in cases(SEED, 80) if is_for_the_binary(case)][:6]
SAMPLE = {name: ROWS[name][0] for name in list(ROWS)[::6]} | {f"generated {number}": case for number, case in enumerate(GENERATED)}


@pytest.mark.parametrize("name", SAMPLE)
def test_the_kubelet_itself_answers_as_the_model(name, tmp_path):
    need_real("unshare", "apt-get install util-linux")
    if os.geteuid() != 0:
        pytest.skip("mounts need root: run the tests as root")
    case = SAMPLE[name]
    wanted = [as_static_pod(answer) for answer in by_model(case)]
    found, devices, log = by_binary(case, tmp_path)
    shown = [["started" if phase in ("Pending", "Running") else phase, reason] for phase, reason in found]
    assert shown == wanted[: len(shown)], log
    assert len(shown) == len(wanted) or shown[-1][0] == "exit", log
    assert (devices is None) == (["exit", ""] in shown), devices
    if devices is not None:
        _are_told(case, devices, [pod for pod, one in zip(case["pods"], shown, strict=False) if one[0] == "started"])


def _are_told(case, told, started):
    """By our own call of the kubelet's podresources: which devices it has, on which nodes, and how many are taken."""
    found = devices_of(told)
    assert not isinstance(found, Unread), found
    known = {
        (name, one["id"]): tuple(sorted(one["nodes"] or ())) for name, rows in case["devices"].items() for one in rows if one["healthy"]
    }
    assert {(one.resource, one.id): one.nodes for one in found if one.healthy} == known
    taken = Counter(one.resource for one in found if one.allocated)
    asked = Counter()
    for pod in started:
        asked.update(
            {name: int(size) for one in pod["spec"]["containers"] for name, size in one["resources"]["limits"].items() if "/" in name}
        )
    assert taken >= asked
