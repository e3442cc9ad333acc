"""`hostagent kubernetes clean` leaves no trace on a real API server, and nothing else is touched; `why` shows why a node is closed."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.real.cluster import MERGE, STRATEGIC
from tests.real.controlled import SOON_S, STALE_S, Fleet, has_all, mark, whole
from tests.real.controllerrun import PREFIX
from tests.real.daemonrun import eventually
from tests.real.readinessrules import KEYS, MULTI_NOT_READY, NOT_READY

FOREIGN = {"key": "example.com/maintenance", "value": "rack-7", "effect": "NoSchedule"}
_TIME = "[0-9-]{10}T[0-9:]{8}Z"
#: What looks like ours and is not.
_SIMILAR = {"hostagent.dev.example/ready": "a", "hostagent.devx/ready": "b", "other.example/ready": "c"}
_CONDITIONS = [{"type": f"{prefix}/Ready", "status": "False", "reason": "Other"} for prefix in ("hostagent.dev.example", "other.example")]


@pytest.fixture
def run(cluster, tmp_path):
    """``run("clean", "--all")``: exit code, output, errors; ``token``: of another account than the administrator's."""

    def started(*argv, **who):
        config = cluster.kubeconfig(tmp_path / "kubeconfig", **who)
        command = [sys.executable, "-m", "hostagent", "kubernetes", *argv, "--kubeconfig", str(config)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout, done.stderr

    return started


def decorated(cluster, name, count):
    """Nodes that hostagent never wrote to, each with what others wrote."""
    fleet = Fleet(cluster, name, count, labels=_SIMILAR, annotations=_SIMILAR, taints=[FOREIGN])
    for one in fleet.names:
        cluster.admin("PATCH", f"/api/v1/nodes/{one}/status", {"status": {"conditions": _CONDITIONS}}, kind=STRATEGIC)
    return fleet


def closed(fleet, folder):
    """The first is not ready, the second silent, and the controller has closed both."""
    bad, silent, _ = fleet.names
    fleet.agents.ready()
    fleet.agents.not_ready(bad)
    with fleet.agents.beating(1), fleet.controller(folder):
        fleet.agents.stop(silent)
        eventually(lambda: fleet.closed() == {silent} and fleet.tainted() == {bad, silent}, STALE_S + 10)
    assert fleet.tainted(MULTI_NOT_READY) == {bad, silent}


def test_why_and_the_way_out(cluster, run, tmp_path):
    """Each node is afterwards as it was before hostagent came, and a second run has nothing to do."""
    run("clean", "--all", "--taints")  # what other tests of this cluster left
    with decorated(cluster, "leaves", 3) as fleet, decorated(cluster, "unselected", 2) as others:
        bad, silent, _ = fleet.names
        alone, bare = others.names

        def nodes():
            return fleet.nodes() | others.nodes()

        def versions():
            return {name: one["metadata"]["resourceVersion"] for name, one in nodes().items()}

        before = nodes()
        closed(fleet, tmp_path)
        others.agents.ready(alone)
        _why(run, fleet, bare)
        at = versions()
        code, text, _ = run("clean", "--all", "--taints", "--dry-run")
        assert (code, text.count("would remove"), "4 nodes have" in text, bare in text) == (1, 4, True, False)
        assert "2 taints" in next(line for line in text.splitlines() if line.startswith(f"{bad}: would remove"))
        assert versions() == at

        code, text, errors = run("clean", "--node", bad)
        assert (code, errors) == (0, "")
        assert "annotation or condition of hostagent is left" in text
        left = cluster.get(bad)
        assert whole(left) == {**whole(before[bad]), "spec": left["spec"]}
        assert has_all(left), "taints are removed where they are asked for"
        assert versions() == {**at, bad: left["metadata"]["resourceVersion"]}

        assert run("clean", "--all", "--taints")[0] == 0
        assert {name: whole(one) for name, one in nodes().items()} == {name: whole(one) for name, one in before.items()}
        at = versions()
        assert at[bare] == before[bare]["metadata"]["resourceVersion"]
        for argv in (("--all", "--taints"), ("--all", "--taints", "--dry-run"), ("--node", silent)):
            assert run("clean", *argv) == (0, "nothing of hostagent is left\n", "")
        assert versions() == at


def _why(run, fleet, bare):
    bad, silent, good = fleet.names
    code, text, _ = run("why", bad)
    assert code == 1
    assert re.match(f"{bad} is closed since {_TIME}: Ready is False .GpuXid.\n", text)
    assert "GPU 4 has fallen off the bus" in text
    assert all(key in text for key in KEYS)
    assert "without a mark" not in text
    code, text, _ = run("why", silent)
    assert code == 1
    assert re.match(f"{silent} is closed since {_TIME}: no heartbeat of hostagent for [0-9]+ s\n", text)
    assert "AgentSilent" in text
    code, text, _ = run("why", good)
    assert (code, text.splitlines()[0]) == (0, f"{good} is open")
    assert run("why", bare) == (0, f"{bare} is open\n  agent      has not written to this node\n", "")


def test_the_prefix_is_exact(cluster, run):
    """Names of another prefix go only with that one; of our keys only the taints with NoSchedule."""
    other = {"metadata": {"labels": {"gpu.example/ready": "true"}, "annotations": {"gpu.example/tainted": NOT_READY}}}
    taints = [FOREIGN, {"key": NOT_READY, "effect": "PreferNoSchedule"}, {"key": NOT_READY, "value": "boot", "effect": "NoSchedule"}]
    with decorated(cluster, "prefixes", 1) as fleet:
        (name,) = fleet.names
        before = cluster.get(name)
        fleet.agents.ready()
        ours = {key: one for key, one in cluster.get(name)["metadata"]["labels"].items() if key.startswith(f"{PREFIX}/")}
        cluster.admin("PATCH", f"/api/v1/nodes/{name}", other, kind=MERGE)
        cluster.taint(name, taints)
        code, text, _ = run("clean", "--node", name, "--prefix", "gpu.example")
        assert (code, text.splitlines()[0]) == (0, f"{name}: removed 1 label, 1 annotation")
        assert ours.items() <= cluster.get(name)["metadata"]["labels"].items()
        code, _, _ = run("clean", "--node", name, "--taints")
        assert code == 0
        assert cluster.taints(name) == taints[:2]
        cluster.taint(name, [FOREIGN])
        assert whole(cluster.get(name)) == whole(before)


def test_an_agent_that_still_writes_is_warned_of(cluster, run):
    """Of the last of many nodes, which writes once after the first one was cleaned."""
    with Fleet(cluster, "beats", 40) as fleet, ThreadPoolExecutor(1) as pool:
        before = {name: whole(node) for name, node in fleet.nodes().items()}
        fleet.agents.ready()
        cleaning = pool.submit(run, "clean", "--all")
        eventually(lambda: not mark(cluster.get(fleet.names[0]), "heartbeat"), 10)
        fleet.agents.heartbeat(fleet.names[-1])
        code, text, errors = cleaning.result()
        left = {name for name, node in fleet.nodes().items() if whole(node) != before[name]}
        assert (code, "nothing of hostagent is left" in text) == (1, False)
        assert left <= {fleet.names[-1]}
        assert errors.count(f"the agent of {fleet.names[-1]} is still running: it wrote a heartbeat meanwhile.") == 1
        assert run("clean", "--all")[0] == 0


def test_refusals_and_mistakes(cluster, run):
    """Without rights, without such a node, and with a command line that means nothing."""
    token = cluster.token_of("default", "stranger-of-the-tests")
    with Fleet(cluster, "forbidden", 1) as fleet:
        fleet.agents.ready()
        (name,) = fleet.names
        for argv in (("clean", "--all"), ("clean", "--node", name), ("why", name)):
            code, text, errors = run(*argv, token=token)
            assert (code, text) == (2, "")
            assert "403" in errors
            assert "stranger-of-the-tests" in errors
        for argv in (("clean", "--node", "no-such-node"), ("why", "no-such-node")):
            assert run(*argv)[::2] == (2, "Error: found no node 'no-such-node'.\nSee 'kubectl get nodes'.\n")
        for argv in (("clean",), ("clean", "--all", "--node", name)):
            code, text, errors = run(*argv)
            assert (code, text, "wanted one of them" in errors) == (2, "", True)
        assert run("clean", "--all", "--prefix", "kubernetes.io")[0] == 2, "labels of Kubernetes itself"
        reader = _reader(cluster)
        code, text, errors = run("clean", "--node", name, token=reader)
        assert (code, f"{name}: not removed: the API server answers 403" in text, errors) == (1, True, "")
        assert run("clean", "--node", name, "--dry-run", token=reader)[0] == 1


def _reader(cluster):
    """The token of an account that may read nodes, and nothing else."""
    account, group = "reader-of-the-tests", "/apis/rbac.authorization.k8s.io/v1"
    token = cluster.token_of("default", account)
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}]
    cluster.admin("POST", f"{group}/clusterroles", {"metadata": {"name": account}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": account}
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": "default"}]
    cluster.admin("POST", f"{group}/clusterrolebindings", {"metadata": {"name": account}, "roleRef": role, "subjects": subjects})
    eventually(lambda: cluster.ask("GET", "/api/v1/nodes", token=token).ok, SOON_S)
    return token
