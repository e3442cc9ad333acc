"""The gate and the real scheduler say the same of drawn clusters (tests/real/gatecluster.py, tests/real/gateflaws.py): what the gate accepts is bound at once, each pod to
another node that may serve; what it refuses stays Pending on all nodes that the gate has nothing of its own against.

The API server, the scheduler and the Job controller are real. Agents and kubelets are not there: no pod starts.
"""

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from hostagent.cli import cli
from hostagent.core.errors import HostagentError
from tests.children import until
from tests.real import cluster as control
from tests.real import gatecluster
from tests.real.cluster import CONTROLLERS, HOSTNAME, MERGE, SCHEDULER, Cluster
from tests.real.gatecluster import JOBS, NODE, Ask, Drawn, Host, pod_spec
from tests.real.gateflaws import drawn

CLUSTERS = 100
#: Every so many of them the gate runs as a process of its own.
APART = 12
#: "At once", on a machine that other tests keep busy.
BOUND_S = 20
#: Between two looks: each costs the API server as much as a pod does.
PAUSE_S = 0.04
PODS = "/api/v1/namespaces/jobs/pods"
PROBES = "/api/v1/namespaces/probes/pods"
CANARY = "canary"
SETTLED = "example.com/settled"
#: Group, version and plural of what the gate emits.
PLURALS = {"Service": "/api/v1/namespaces/jobs/services", "Job": JOBS}
_numbers = itertools.count()


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    """A control plane of its own, with one node that has no GPU."""
    with control.started(tmp_path_factory.mktemp("gate"), (CONTROLLERS, SCHEDULER)) as found:
        gatecluster.prepare(found)
        found.admin("DELETE", "/api/v1/nodes/probe")
        found.nodes([CANARY], labels={})
        yield found


@pytest.mark.parametrize("seed", range(CLUSTERS))
def test_gate_and_scheduler_agree(plane, seed):
    one = drawn(seed)
    gatecluster.make(plane, one)
    try:
        settle(plane, one)
        for ask in one.asks:
            try:
                if ask is one.asks[seed % len(one.asks)]:
                    probed(plane, one, ask)
                compare(plane, one, ask, is_apart=seed % APART == 0)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{one.described(ask)}") from error
    finally:
        gatecluster.remove(plane, one)


def compare(plane, one, ask, *, is_apart):
    """One request of one cluster."""
    code, text, complaints = gate(plane, ask, "--json", is_apart=is_apart)
    assert code in (0, 1), complaints
    answer = json.loads(text)
    eligible = [host for host in one.hosts if host.is_eligible(ask)]
    agrees(one, ask, answer, eligible)
    if answer["placeable"]:
        placed(plane, one, ask, answer, is_apart=is_apart)
    else:
        pending(plane, one, ask)


def gate(plane: Cluster, ask: Ask, *more: str, is_apart: bool) -> "tuple[int, str, str]":
    """Exit code, standard output and standard error."""
    argv = ["gate", *ask.argv, "--kubeconfig", str(config(plane)), *more]
    if is_apart:
        done = subprocess.run([sys.executable, "-m", "hostagent", *argv], capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout, done.stderr
    ran = CliRunner().invoke(cli, argv, standalone_mode=False)
    if isinstance(ran.exception, HostagentError):
        return 2, ran.stdout, ran.exception.message
    if ran.exception:
        raise AssertionError(f"{ran.exception!r}") from ran.exception
    return ran.return_value, ran.stdout, ran.stderr


def config(plane):
    return plane.kubeconfig(Path(plane.folder) / "gate.kubeconfig")


# -- the gate and the oracle


def agrees(one: Drawn, ask: Ask, answer: "dict[str, Any]", eligible: "list[Host]") -> None:
    """The gate accepts what may be placed, and nothing else, and says of no node what is not so."""
    hosts = {host.name: host for host in one.hosts}
    wanted = most_alike(ask, eligible)
    assert answer["placeable"] == (wanted >= ask.nodes), f"placeable is {answer['placeable']}, of one class {wanted} may serve: {answer}"
    for refused in answer["refused"]:
        host, codes = hosts[refused["node"]], {reason["code"] for reason in refused["reasons"]}
        known = host.gate_codes(ask) | host.scheduler_codes(ask)
        known |= {"NotInClass"} if ask.nodes > 1 else set()
        known |= {"TooFewGpus"} if "NoFreeGpus" in known else set()
        assert codes <= known, f"{host.name} is refused with {sorted(codes - known)}: {refused}"
    if answer["placeable"]:
        assert len(set(answer["nodes"])) == ask.nodes
        assert all(hosts[name].is_eligible(ask) for name in answer["nodes"]), f"chosen: {answer['nodes']}"
    else:
        said = {refused["node"] for refused in answer["refused"]} | {host.name for host in eligible}
        silent = {host.name for host in one.hosts if not host.is_eligible(ask) and "Selector" not in host.scheduler_codes(ask)} - said
        assert not (silent and most_alike(ask, [hosts[name] for name in silent]) >= ask.nodes), f"nothing is said of {sorted(silent)}"


def most_alike(ask: Ask, eligible: "list[Host]") -> int:
    """How many of one class."""
    if ask.nodes == 1:
        return len(eligible)
    return max((sum(other.group(ask) == host.group(ask) for other in eligible) for host in eligible), default=0)


# -- the scheduler


def settle(plane: Cluster, one: Drawn) -> None:
    """Until the controller-manager has set its taints, and the scheduler has seen them and all pods."""
    wanted = {host.name: {taint.key for taint in host.all_taints if taint.effect == "NoSchedule"} for host in one.hosts}

    def is_tainted():
        nodes = {node["metadata"]["name"]: node["spec"].get("taints", []) for node in plane.admin("GET", "/api/v1/nodes")["items"]}
        found = {name: {taint["key"] for taint in nodes[name] if taint["effect"] == "NoSchedule"} for name in wanted}
        if found != wanted:
            time.sleep(PAUSE_S)
        return found == wanted

    assert until(is_tainted, 30), wanted
    plane.admin("PATCH", f"/api/v1/nodes/{CANARY}", {"metadata": {"labels": {SETTLED: str(one.seed)}}}, kind=MERGE)
    plane.admin("POST", PROBES, {"metadata": {"name": CANARY}, "spec": pod_spec({}, nodeSelector={SETTLED: str(one.seed)})})
    assert until(lambda: plane.admin("GET", f"{PROBES}/{CANARY}")["spec"].get("nodeName"), BOUND_S)
    gatecluster.remove_pods(plane, "probes")


def probed(plane: Cluster, one: Drawn, ask: Ask) -> None:
    """The scheduler takes or refuses one pod of the request on each node, as the oracle says."""
    for host in one.hosts:
        spec = wanting(ask, [host])
        plane.admin("POST", PROBES, {"metadata": {"name": host.name}, "spec": spec})
    found = decided(plane, PROBES, len(one.hosts))
    gatecluster.remove_pods(plane, "probes")
    wrong = [host.name for host in one.hosts if bool(found[host.name]) != host.takes(ask)]
    assert not wrong, f"the scheduler sees {wrong} otherwise than the oracle"


def decided(plane: Cluster, pods: str, count: int) -> "dict[str, str]":
    """By pod its node, "" where the scheduler finds none, once it has looked at all `count`."""

    def seen():
        listed = plane.admin("GET", pods)["items"]
        found = {pod["metadata"]["name"]: pod["spec"].get("nodeName") or _refusal(pod) for pod in listed}
        if len(found) == count and None not in found.values():
            return found
        time.sleep(PAUSE_S)
        return {}

    found = until(seen, BOUND_S)
    assert found, f"the scheduler has not decided: {[pod.get('status') for pod in plane.admin('GET', pods)['items']]}"
    return found


def _refusal(pod: "dict[str, Any]") -> "str | None":
    conditions = pod.get("status", {}).get("conditions", [])
    return (
        ""
        if any((one["type"], one["status"], one.get("reason")) == ("PodScheduled", "False", "Unschedulable") for one in conditions)
        else None
    )


def wanting(ask: Ask, hosts: "list[Host]", **more: Any) -> "dict[str, Any]":
    """The pod of a request that wants one of these nodes."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [host.name]}]} for host in hosts]
    near = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    spec = pod_spec({gatecluster.GPUS: str(ask.gpus)}, nodeSelector=ask.selector, affinity={**near, **more})
    return {**spec, "tolerations": [_toleration(one) for one in ask.tolerations]}


def _toleration(text: str) -> "dict[str, str]":
    rest, _, effect = text.partition(":")
    key, has_value, value = rest.partition("=")
    found = {"key": key, "operator": "Equal", "value": value} if has_value else {"key": key, "operator": "Exists"}
    return {**found, **({"effect": effect} if effect else {})}


def placed(plane: Cluster, one: Drawn, ask: Ask, answer: "dict[str, Any]", *, is_apart: bool) -> None:
    """The emitted Job: each of its pods is bound, to another of the nodes of the answer."""
    name = f"job-{one.seed}-{next(_numbers)}"
    options = ("--emit", "indexed-job", "--name", name, "--namespace", "jobs", "--image", "none", "--", "true")
    code, text, complaints = gate(plane, ask, *options, is_apart=is_apart)
    if nameless := [host.name for host in one.hosts if host.name in answer["nodes"] and HOSTNAME not in host.labels and ask.nodes > 1]:
        assert code == 0 or (code == 2 and any(name in complaints for name in nameless)), complaints
        if code == 2:  # no affinity of Kubernetes keeps two pods from sharing such a node
            return
    assert code == 0, complaints
    (document,) = yaml.safe_load_all(text)
    for each in document["items"] if document["kind"] == "List" else [document]:
        plane.admin("POST", f"{PLURALS[each['kind']]}?fieldValidation=Strict", each)
    pods = f"{PODS}?labelSelector=batch.kubernetes.io/job-name={name}"
    bound = sorted(decided(plane, pods, ask.nodes).values())
    assert len(set(bound)) == ask.nodes, f"bound to {bound}: {text}"
    assert "" not in bound, f"bound to {bound}: {text}"
    assert set(bound) == set(answer["nodes"]), f"bound to {bound}, chosen {answer['nodes']}: {text}"
    for host in one.hosts:
        if host.name in bound:
            host.placed += ask.gpus
            host.jobs += 1


def pending(plane: Cluster, one: Drawn, ask: Ask) -> None:
    """The same Job, with no nodes named but those of one class that the gate has nothing of its own against: some pod stays Pending."""
    sound = [host for host in one.hosts if not host.gate_codes(ask)]
    groups = {host.group(ask) for host in sound} if ask.nodes > 1 else {""}
    for group in sorted(groups):
        hosts = [host for host in sound if ask.nodes == 1 or host.group(ask) == group]
        if not hosts:
            continue
        name = f"refused-{one.seed}-{next(_numbers)}"
        apart = {
            "labelSelector": {"matchLabels": {"batch.kubernetes.io/job-name": name}},
            "topologyKey": NODE,
        }
        spec = wanting(ask, hosts, podAntiAffinity={"requiredDuringSchedulingIgnoredDuringExecution": [apart]})
        job = {"completions": ask.nodes, "parallelism": ask.nodes, "completionMode": "Indexed"}
        template = {"template": {"spec": {**spec, "restartPolicy": "Never"}}}
        plane.admin("POST", JOBS, {"metadata": {"name": name}, "spec": {**job, **template}})
        pods = f"{PODS}?labelSelector=batch.kubernetes.io/job-name={name}"
        bound = list(decided(plane, pods, ask.nodes).values())
        plane.admin("DELETE", f"{JOBS}/{name}?propagationPolicy=Orphan")
        remove_job(plane, pods)
        assert "" in bound, f"the gate refuses, and all pods are bound: {bound}"


def remove_job(plane: Cluster, pods: str) -> None:
    """The pods of a Job that is gone."""
    path = PODS
    for pod in plane.admin("GET", pods)["items"]:
        plane.ask("PATCH", f"{path}/{pod['metadata']['name']}", {"metadata": {"finalizers": None}}, kind=MERGE)
    plane.admin("DELETE", pods, {"gracePeriodSeconds": 0})
