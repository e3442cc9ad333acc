"""What daemonset/ holds, in a real control plane: accepted whole, one agent on each GPU node, rights after the policy that limits them.

The tests' API server runs without the admission of service accounts: no pod here is refused for want of one. No kubelet runs: pods are
made and bound, not started.
"""

import json
import os
from pathlib import Path

import pytest
import yaml

from hostagent import __version__
from tests.real import cluster as control
from tests.real import readinessrules
from tests.real.cluster import CONTROLLERS, HOSTNAME, SCHEDULER, acting_as
from tests.real.daemonrun import eventually
from tests.real.manifests import DAEMONSET, dry_run, kubectl, kustomized, named, rendered

OVERLAYS = (
    "observe",
    "observe-unprivileged",
    "controller",
    "events",
    "gate",
    "readiness-rules",
    "readiness-rules/sharded",
    "readiness-rules-in-force",
)
LINUX = {"kubernetes.io/os": "linux"}
#: One of each label by which a node is known for a GPU node: who sets it.
GPU_LABELS = {
    "gpu feature discovery": {"nvidia.com/gpu.present": "true"},
    "node feature discovery, by vendor": {"feature.node.kubernetes.io/pci-10de.present": "true"},
    "node feature discovery, 3d": {"feature.node.kubernetes.io/pci-0302_10de.present": "true"},
    "node feature discovery, vga": {"feature.node.kubernetes.io/pci-0300_10de.present": "true"},
    "gke": {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"},
    "karpenter": {"karpenter.k8s.aws/instance-gpu-manufacturer": "nvidia"},
    "eks auto mode": {"eks.amazonaws.com/instance-gpu-manufacturer": "nvidia"},
    "aks": {"kubernetes.azure.com/accelerator": "nvidia"},
    "aks before": {"accelerator": "nvidia"},
    "an agent was there": {"hostagent.dev/ready": "false"},
}
OTHER_LABELS = {
    "no gpu": {},
    "gpu feature discovery says none": {"nvidia.com/gpu.present": "false"},
    "amd": {"accelerator": "amd", "karpenter.k8s.aws/instance-gpu-manufacturer": "amd"},
    "windows": {"nvidia.com/gpu.present": "true", "kubernetes.io/os": "windows"},
}
#: Taints of administrators, and those that Kubernetes sets.
TAINTS = [
    {"key": readinessrules.NOT_READY, "effect": "NoSchedule"},
    {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
    {"key": "example.com/reserved", "value": "a", "effect": "NoExecute"},
]
#: What a container may write to, by overlay.
_HOST = ["/host/run/hostagent", "/host/var/lib/hostagent-daemon"]
WRITABLE = {"observe": _HOST, "observe-unprivileged": ["/tmp", *_HOST], "controller": []}
BUDGET = "poddisruptionbudget.policy/hostagent-controller configured"
PODS = "/api/v1/namespaces/hostagent/pods"


def slug(words):
    return words.replace(",", "").replace(" ", "-")


def agent(objects):
    return next(one for one in objects if one["kind"] == "DaemonSet")


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    """A control plane of its own, because the DaemonSet's controller looks at every node."""
    with control.started(tmp_path_factory.mktemp("plane"), (CONTROLLERS, SCHEDULER)) as found:
        yield found


@pytest.fixture(scope="module")
def running(plane):
    """Nodes of each kind, each with every taint; then the overlay `observe`, and the pods that the controller-manager makes of it."""
    for name, labels in {**GPU_LABELS, **OTHER_LABELS}.items():
        plane.nodes([slug(name)], labels={**LINUX, **labels}, taints=TAINTS)
    done = kubectl("apply", "-k", DAEMONSET / "overlays/observe", cluster=plane)
    assert done.returncode == 0, done.stderr
    path = "/apis/apps/v1/namespaces/hostagent/daemonsets/hostagent"

    def is_made():
        status = plane.admin("GET", path).get("status", {})
        return status.get("desiredNumberScheduled", 0) > 0 and status["desiredNumberScheduled"] == status["currentNumberScheduled"]

    eventually(is_made, 60)
    pods = f"{PODS}?labelSelector=app.kubernetes.io/name=hostagent"
    eventually(lambda: all(one["spec"].get("nodeName") for one in plane.admin("GET", pods)["items"]), 60)
    return plane


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_passes_a_strict_dry_run_of_the_server(cluster, overlay):
    readinessrules.apply_crd(cluster)
    objects = rendered("observe", "events") if overlay == "events" else rendered(overlay)
    answers = dry_run(cluster, objects)
    assert len(answers) == len(objects)
    assert all(line.endswith("serverside-applied (server dry run)") for line in answers), answers


def test_a_field_that_is_misspelled_does_not_pass(cluster):
    wrong = agent(rendered("observe"))
    wrong["spec"]["template"]["spec"]["tolerationz"] = []
    with pytest.raises(AssertionError, match="tolerationz"):
        dry_run(cluster, [wrong])


def test_each_gpu_node_has_one_agent_whatever_its_taints_and_no_other_node_has(running):
    found = running.admin("GET", f"{PODS}?labelSelector=app.kubernetes.io/name=hostagent")["items"]
    assert sorted(one["spec"]["nodeName"] for one in found) == sorted(map(slug, GPU_LABELS))
    assert {one["spec"]["priorityClassName"] for one in found} == {"system-node-critical"}


def test_an_agent_stays_when_the_label_of_another_goes(running):
    running.nodes(["relabelled"], labels={**LINUX, "nvidia.com/gpu.present": "true"}, taints=TAINTS)
    pods = f"{PODS}?fieldSelector=spec.nodeName=relabelled"
    eventually(lambda: running.admin("GET", pods)["items"], 60)
    made = running.admin("GET", pods)["items"][0]["metadata"]["uid"]
    labels = {"metadata": {"labels": {"hostagent.dev/ready": "true", "nvidia.com/gpu.present": None}}}
    running.admin("PATCH", "/api/v1/nodes/relabelled", labels, kind=control.MERGE)
    running.nodes(["later"], labels={**LINUX, "nvidia.com/gpu.present": "true"})
    eventually(lambda: running.admin("GET", f"{PODS}?fieldSelector=spec.nodeName=later")["items"], 60)  # it has looked at the nodes again
    assert [one["metadata"]["uid"] for one in running.admin("GET", pods)["items"]] == [made]


@pytest.mark.parametrize("overlay", ["observe", "observe-unprivileged", "controller", "events", "gate", "readiness-rules"])
def test_applied_again_nothing_changes(plane, overlay):
    readinessrules.apply_crd(plane)
    for _ in range(2):
        done = kubectl("apply", "-k", DAEMONSET / "overlays" / overlay, cluster=plane)
        assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines
    assert {line for line in lines if not line.endswith(" unchanged")} <= {BUDGET}
    if overlay == "controller":  # kubectl replaces the selector of a budget by itself each time, and says so
        found = plane.admin("GET", "/apis/policy/v1/namespaces/hostagent/poddisruptionbudgets/hostagent-controller")
        assert found["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("overlay", "policy", "right"),
    [
        ("observe", "hostagent-own-words", ("ClusterRoleBinding", "hostagent")),
        ("observe-unprivileged", "hostagent-own-words", ("ClusterRoleBinding", "hostagent")),
        ("events", "hostagent-own-events", ("RoleBinding", "hostagent-events")),
    ],
)
def test_the_policy_comes_before_the_right_that_it_limits(overlay, policy, right):
    order = [(one["kind"], one["metadata"]["name"]) for one in kustomized(DAEMONSET / "overlays" / overlay)]
    for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
        assert order.index((kind, policy)) < order.index(right)


def in_namespace(cluster, name, level):
    made = {"metadata": {"name": name, "labels": {f"pod-security.kubernetes.io/{mode}": level for mode in ("enforce", "warn")}}}
    cluster.ask("POST", "/api/v1/namespaces", made)

    def created(template):
        pod = {"metadata": {"generateName": "p-", "labels": template["metadata"]["labels"]}, "spec": template["spec"]}
        return cluster.ask("POST", f"/api/v1/namespaces/{name}/pods?dryRun=All", pod)

    return created


def test_pod_security_restricted_admits_the_controller_and_no_agent(cluster):
    created = in_namespace(cluster, "restricted", "restricted")
    controller = next(one for one in rendered("controller") if one["kind"] == "Deployment")
    answer = created(controller["spec"]["template"])
    assert answer.status_code == 201, answer.text
    assert "Warning" not in answer.headers
    for overlay in ("observe", "observe-unprivileged"):
        refused = created(agent(rendered(overlay))["spec"]["template"])
        assert refused.status_code == 403
        assert 'violates PodSecurity "restricted' in refused.json()["message"]


def test_the_namespace_of_base_admits_the_agent(cluster):
    for overlay in ("observe", "observe-unprivileged"):
        namespace = next(one for one in rendered(overlay) if one["kind"] == "Namespace")
        assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
        template = agent(rendered(overlay))["spec"]["template"]
        pod = {"metadata": {"generateName": "p-"}, "spec": template["spec"]}
        answer = cluster.ask("POST", f"{PODS}?dryRun=All", pod)
        assert answer.status_code == 201, answer.text
        assert "Warning" not in answer.headers


def test_without_privileges_nothing_changes_but_the_rights_of_the_container_its_tmp_and_the_profile():
    privileged, other = named(rendered("observe")), named(rendered("observe-unprivileged"))
    assert list(privileged) == list(other)
    changed = [key[1:] for key, one in privileged.items() if one != other[key]]
    assert changed == [("ConfigMap", "hostagent", "hostagent-profile"), ("DaemonSet", "hostagent", "hostagent")]
    pods = [agent(objects.values())["spec"]["template"]["spec"] for objects in (privileged, other)]
    rights = [pod["containers"][0].pop("securityContext") for pod in pods]
    assert pods[1]["containers"][0]["volumeMounts"].pop(0) == {"name": "tmp", "mountPath": "/tmp"}
    assert pods[1]["volumes"].pop(0) == {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "256Mi"}}
    assert pods[0] == pods[1]
    assert rights[0] == {"privileged": True, "runAsUser": 0, "runAsGroup": 0, "readOnlyRootFilesystem": True}
    assert rights[1] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"], "add": ["SYSLOG", "SYS_CHROOT"]},
        "seccompProfile": {"type": "RuntimeDefault"},
        "runAsUser": 0,
        "runAsGroup": 0,
        "readOnlyRootFilesystem": True,
    }


@pytest.mark.parametrize("overlay", ["observe", "observe-unprivileged", "controller"])
def test_pods_have_no_namespace_of_the_host_and_no_token_but_their_own(overlay):
    pods = [one["spec"]["template"]["spec"] for one in rendered(overlay) if one["kind"] in ("DaemonSet", "Deployment")]
    for pod in pods:
        assert not pod.keys() & {"hostNetwork", "hostPID", "hostIPC"}
        assert pod["automountServiceAccountToken"] is False
        (token,) = (one["projected"]["sources"] for one in pod["volumes"] if one["name"] == "token")
        assert token[0] == {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}
        writable = [one["mountPath"] for one in pod["containers"][0]["volumeMounts"] if not one.get("readOnly")]
        assert writable == WRITABLE[overlay]
    assert len(pods) == 1


def test_the_image_is_this_version():
    pods = [one["spec"]["template"]["spec"] for one in rendered("observe", "controller") if one["kind"] in ("DaemonSet", "Deployment")]
    assert {pod["containers"][0]["image"] for pod in pods} == {f"hostagent:{__version__}"}
    assert len(pods) == 2


@pytest.mark.parametrize("overlay", ["observe", "observe-unprivileged"])
def test_the_profile_of_an_overlay_is_taken(overlay, tmp_path):
    from hostagent.profiles.profile import load

    text = next(one for one in rendered(overlay) if one["kind"] == "ConfigMap")["data"]["profile.yaml"]
    (tmp_path / "profile.yaml").write_text(text)
    found = load(str(tmp_path / "profile.yaml"), site_file="").profile
    optional = "required" if overlay == "observe" else "optional"
    assert (found.nvml, found.verbs, found.pci_configuration) == (optional, optional, optional)


def own(folder, **more):
    """A site's kustomization: paths below daemonset/ are relative to it, as kustomize wants them."""
    up = Path(os.path.relpath(DAEMONSET, folder.resolve()))
    paths = {key: [str(up / one) for one in more.pop(key, ())] for key in ("resources", "components")}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({**paths, **more}))
    return kustomized(folder)


def test_the_component_of_events_gives_the_agent_its_option(tmp_path):
    found = own(tmp_path, resources=["overlays/observe", "overlays/events"], components=["overlays/events/flag"])
    assert named(found) == named(rendered("observe", "events"))


def test_a_site_names_its_registry_once(tmp_path):
    image = {"name": "hostagent", "newName": "registry.example.com/gpu/hostagent", "newTag": "site-1"}
    found = own(tmp_path, resources=["overlays/observe", "overlays/controller"], images=[image])
    pods = [one["spec"]["template"]["spec"] for one in found if one["kind"] in ("DaemonSet", "Deployment")]
    assert [pod["containers"][0]["image"] for pod in pods] == ["registry.example.com/gpu/hostagent:site-1"] * 2


def test_shards_leave_no_gpu_node_out_and_take_none_twice():
    rules = rendered("readiness-rules/sharded")
    taints = {one["spec"]["taint"]["key"] for one in rules}
    assert taints == set(readinessrules.KEYS)
    for key in taints:
        selectors = [one["spec"]["nodeSelector"] for one in rules if one["spec"]["taint"]["key"] == key]
        for zone in ("zone-a", "zone-b", "zone-c", None):
            labels = {"nvidia.com/gpu.present": "true", **({"topology.kubernetes.io/zone": zone} if zone else {})}
            assert sum(readinessrules.matches(one, labels) for one in selectors) == 1, (key, zone)


def test_rules_are_a_dry_run_until_they_are_applied_in_force(cluster):
    assert [one["spec"]["dryRun"] for one in rendered("readiness-rules")] == [True, True]
    assert [one["spec"]["dryRun"] for one in rendered("readiness-rules-in-force")] == [False, False]
    assert all(one["spec"]["dryRun"] for one in rendered("readiness-rules/sharded"))
    readinessrules.apply_crd(cluster)
    for overlay in ("readiness-rules", "readiness-rules-in-force"):
        done = kubectl("apply", "-k", DAEMONSET / "overlays" / overlay, cluster=cluster)
        assert done.returncode == 0, done.stderr
    found = cluster.admin("GET", readinessrules.RULES)["items"]
    assert {one["metadata"]["name"]: one["spec"]["dryRun"] for one in found} == {
        "hostagent-ready": False,
        "hostagent-multi-node-ready": False,
    }
    done = kubectl("delete", "-k", DAEMONSET / "overlays/readiness-rules", cluster=cluster)
    assert done.returncode == 0, done.stderr


def test_the_token_of_the_agent_has_no_more_than_its_one_right(cluster):
    user = acting_as("system:serviceaccount:hostagent:hostagent")
    ask = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "hostagent"}}
    found = cluster.admin("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", ask, headers=user)["status"]["resourceRules"]
    own = [one for one in found if one["apiGroups"] not in (["authorization.k8s.io"], ["authentication.k8s.io"])]
    assert json.dumps(own) == json.dumps([{"verbs": ["patch"], "apiGroups": [""], "resources": ["nodes/status"]}])


def test_the_label_of_each_node_is_named_once():
    terms = agent(rendered("observe"))["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    keys = [one["matchExpressions"][0]["key"] for one in terms["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]]
    assert keys == [next(iter(one)) for one in GPU_LABELS.values()]
    assert HOSTNAME not in keys
