"""The account of daemonset/overlays/gate on a real API server: its rights are enough, each of them is needed, and it submits what the gate emits.

No kubelet runs: in a pod's place the gate has a pod's environment, and the account's token where a kubelet mounts it.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.real import gatecluster
from tests.real.cluster import GPU, HOSTNAME, apply
from tests.real.conftest import need_real
from tests.real.daemonrun import eventually
from tests.real.gatecluster import GPUS, Host
from tests.real.imagerun import kubelet_volume
from tests.real.manifests import kubectl, kustomized, rendered

ROOT = Path(__file__).parents[2]
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
#: Its own nodes, of a server that other tests use, too.
OF = "example.com/of"
JOB = ("--nodes", "2", "--gpus-per-node", "8", "--node-selector", f"{OF}=gate-rights")
#: What the ClusterRole lets its account list: API group by resource.
RIGHTS = {"nodes": "", "pods": "", "resourceslices": "resource.k8s.io"}
LISTS = {
    "nodes": "/api/v1/nodes?limit=1",
    "pods": "/api/v1/pods?limit=1",
    "resourceslices": "/apis/resource.k8s.io/v1/resourceslices?limit=1",
}


def role(name):
    return next(one for one in rendered("gate") if (one["kind"], one["metadata"]["name"]) == (name, "hostagent-gate"))


@pytest.fixture(scope="module")
def gated(cluster):
    """Two nodes that can serve, one whose GPUs are handed out by DRA, and the overlay."""
    hosts = [Host(f"gate-rights-{number}", {HOSTNAME: f"gate-rights-{number}", OF: "gate-rights"}, time.time()) for number in range(3)]
    hosts[2].allocatable.pop(GPUS)
    for host in hosts:
        cluster.admin("POST", "/api/v1/nodes", host.document())
        cluster.taint(host.name, [])
    cluster.admin("POST", gatecluster.SLICES, gatecluster.resource_slice(hosts[2].name))
    apply(cluster, "overlays/gate")
    yield cluster
    for host in hosts:
        cluster.ask("DELETE", f"/api/v1/nodes/{host.name}")
    cluster.ask("DELETE", gatecluster.SLICES)


@pytest.fixture
def token(gated):
    """Of the account, once its rights are in force."""
    found = gated.token_of("default", "hostagent-gate")
    eventually(lambda: all(gated.ask("GET", path, token=found).ok for path in LISTS.values()), 30)
    return found


def gate(*arguments, env=None, prefix=()):
    argv = [*prefix, sys.executable, "-m", "hostagent", "gate", *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT, env=env)


def test_the_rights_of_the_account_are_enough(gated, token, tmp_path):
    done = gate(*JOB, "--json", "--kubeconfig", gated.kubeconfig(tmp_path / "config", token))
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["nodes"] == ["gate-rights-0", "gate-rights-1"]


def test_they_are_enough_to_explain_a_refusal(gated, token, tmp_path):
    asked = ("--nodes", "3", *JOB[2:])
    done = gate(*asked, "--json", "--kubeconfig", gated.kubeconfig(tmp_path / "config", token))
    assert done.returncode == 1, done.stdout + done.stderr
    refused = {one["node"]: [reason["code"] for reason in one["reasons"]] for one in json.loads(done.stdout)["refused"]}
    assert refused == {"gate-rights-2": ["Dra"]}


def account_with(cluster, name, resources):
    """The token of another account, which may list those alone."""
    rules = [{"apiGroups": [RIGHTS[one]], "resources": [one], "verbs": ["list"]} for one in resources]
    bound = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]
    cluster.admin("POST", ROLES, {"metadata": {"name": name}, "rules": rules})
    cluster.admin("POST", BINDINGS, {"metadata": {"name": name}, "roleRef": bound, "subjects": subjects})
    token = cluster.token_of("default", name)
    eventually(lambda: all(cluster.ask("GET", LISTS[one], token=token).ok for one in resources), 30)
    return token


def without(cluster, folder, lacking):
    """What the gate says to an account that lacks one right."""
    token = account_with(cluster, f"gate-without-{lacking}", RIGHTS.keys() - {lacking})
    return gate("--nodes", "3", *JOB[2:], "--kubeconfig", cluster.kubeconfig(folder / "config", token))


def test_the_role_has_these_rights_and_no_other():
    rules = role("ClusterRole")["rules"]
    assert {one: rule["apiGroups"][0] for rule in rules for one in rule["resources"]} == RIGHTS
    assert [rule["verbs"] for rule in rules] == [["list"]] * 2


@pytest.mark.parametrize("lacking", ["nodes", "pods"])
def test_without_one_of_them_the_gate_ends_with_2_and_prints_the_rule(gated, tmp_path, lacking):
    done = without(gated, tmp_path, lacking)
    rule = f'{{apiGroups: [""], resources: ["{lacking}"], verbs: ["list"]}}'
    said = " ".join(done.stderr.split())
    assert (done.returncode, rule in said, "Traceback" in said) == (2, True, False), done.stdout + done.stderr


def test_where_slices_cannot_be_listed_a_node_without_gpus_is_refused_and_a_warning_says_what_was_not_read(gated, tmp_path):
    done = without(gated, tmp_path, "resourceslices")
    assert done.returncode == 1, done.stderr
    assert "NoFreeGpus, 1 node: gate-rights-2" in done.stdout
    assert "this account may not list resourceslices" in " ".join(done.stdout.split())


def test_without_the_right_to_list_pods_it_works_with_ignore_running_and_says_so(gated, tmp_path):
    token = account_with(gated, "gate-of-nodes", ["nodes"])
    done = gate(*JOB, "--ignore-running", "--json", "--kubeconfig", gated.kubeconfig(tmp_path / "config", token))
    assert done.returncode == 0, done.stdout + done.stderr
    assert any("--ignore-running" in one for one in json.loads(done.stdout)["warnings"])


def in_pod(tmp_path, cluster, token):
    """Environment and the words before a command, as in a pod of the account: its own mounts, and no kubeconfig."""
    need_real("unshare", "apt-get install util-linux")
    if os.geteuid() != 0:
        need_real("/root-is-needed", "sudo make test")
    volume = kubelet_volume(tmp_path / "token", {"token": token, "ca.crt": Path(cluster.ca).read_text(), "namespace": "default"})
    mounts = f'mount -t tmpfs none /run && mkdir -p {ACCOUNT} && mount --bind -o ro {volume} {ACCOUNT} && exec "$@"'
    port = cluster.url.rpartition(":")[2]
    env = {key: value for key, value in os.environ.items() if key not in ("KUBECONFIG", "HOME")}
    env |= {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port, "HOME": str(tmp_path)}
    return env, ("unshare", "--mount", "--propagation", "private", "sh", "-c", mounts, "sh")


def test_in_a_pod_it_asks_the_pods_own_cluster_with_no_option(gated, token, tmp_path):
    env, prefix = in_pod(tmp_path, gated, token)
    done = gate(*JOB, "--json", env=env, prefix=prefix)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["nodes"] == ["gate-rights-0", "gate-rights-1"]


def test_in_a_pod_the_emitted_job_is_created_with_the_same_token(gated, token, tmp_path):
    env, prefix = in_pod(tmp_path, gated, token)
    done = gate(*JOB, "--emit", "indexed-job", "--name", "rights", "--image", "none", env=env, prefix=prefix)
    assert done.returncode == 0, done.stderr
    config = gated.kubeconfig(tmp_path / "config", token)
    (tmp_path / "job.yaml").write_text(done.stdout)
    for verb in ("create", "get", "delete"):
        ran = kubectl("--kubeconfig", config, verb, "-f", tmp_path / "job.yaml")
        assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs", "trainjobs"),
        ("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs", "jobs"),
    ],
    ids=["trainjob", "volcano"],
)
@pytest.mark.parametrize("verb", ["create", "get", "delete"])
def test_it_may_create_and_look_after_the_jobs_of_others(gated, token, path, kind, verb):
    group = path.split("/")[2]
    asked = {"namespace": "default", "group": group, "resource": kind, "verb": verb}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": asked}}
    found = gated.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, token=token).json()
    assert found["status"]["allowed"]


def test_it_may_change_no_node_and_no_pod_of_others(gated, token):
    pod = {"metadata": {"name": "own"}, "spec": {"containers": [{"name": "job", "image": "none"}]}}
    assert gated.ask("POST", "/api/v1/namespaces/kube-system/pods", pod, token=token).status_code == 403
    changed = {"metadata": {"labels": {"example.com/mine": "true"}}}
    patched = gated.ask("PATCH", "/api/v1/nodes/gate-rights-0", changed, token=token, kind="application/merge-patch+json")
    assert patched.status_code == 403
    assert gated.get("gate-rights-0")["metadata"]["labels"].keys() >= GPU.keys()


def test_another_namespace_is_named_once(tmp_path):
    up = os.path.relpath(ROOT / "daemonset/overlays/gate", tmp_path.resolve())
    (tmp_path / "kustomization.yaml").write_text(f"resources: [{up}]\nnamespace: my-team\nnameSuffix: -my-team\n")
    found = kustomized(tmp_path)
    named = [one["metadata"]["namespace"] for one in found if "namespace" in one["metadata"]]
    subjects = [subject for one in found for subject in one.get("subjects", [])]
    assert set(named) == {"my-team"}
    assert [(one["name"], one["namespace"]) for one in subjects] == [("hostagent-gate-my-team", "my-team")] * 2
