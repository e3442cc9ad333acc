"""The Helm chart, by the real Helm: the same objects as the kustomizations, a mistake in a value refused, and its policy holding a real account."""

import contextlib
import itertools
import json
import shlex
import time

import pytest
import yaml

from hostagent import __version__
from tests.real import cluster as control
from tests.real import readinessrules
from tests.real.cluster import STRATEGIC, acting_as
from tests.real.daemonrun import eventually
from tests.real.manifests import CHART, DAEMONSET, VARIANTS, dry_run, helm, kubectl, linted, named, rendered, templated

#: Values that a site of its own has.
OWN = {
    "namespace": "gpu-health",
    "prefix": "gpu.example.com",
    "serviceAccountName": "agent",
    "image": {
        "repository": "registry.example.com/gpu/hostagent",
        "digest": "sha256:" + "a" * 64,
        "pullPolicy": "Always",
        "pullSecrets": ["pull"],
    },
    "profile": 'schema_version: "1.5"\nname: site\ngpus: {count: 8}\n',
    "extraArgs": ["--interval=120", "--log-format=json"],
    "nodeSelector": {"example.com/pool": "gpu"},
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "example.com/gpu", "operator": "Exists"}]}]
        }
    },
    "tolerations": [{"key": "example.com/gpu", "operator": "Exists"}],
    "maxUnavailable": 3,
    "podLabels": {"example.com/team": "gpu"},
    "networkPolicy": {"enabled": True, "apiServerPorts": [16443]},
    "events": True,
    "controller": {
        "enabled": True,
        "replicas": 3,
        "serviceAccountName": "closer",
        "extraArgs": ["--max-tainted=30%"],
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    },
    "readinessRules": {"enabled": True, "nodeSelector": {"matchLabels": {"example.com/gpu": "yes"}}},
}
MISTAKES = [
    "unpriviledged=true",
    "unprivileged=yes",
    "image.registry=registry.example.com",
    "image.digest=aaaa",
    "controller.replica=3",
    "controller=true",
    "events.enabled=true",
    "gateNamespaces=default",
    "gateNamespaces={Team_A}",
    "readinessRules.dryrun=false",
    "networkPolicy.apiServerPorts={443,99999}",
    "resources.limit.cpu=1",
    "tolerations[0].operater=Exists",
    "maxUnavailable=0%",
    "namespace=Host_Agent",
    "prefix=nodomain",
    "extraArgs={interval=120}",
    r"podLabels.app\.kubernetes\.io/name=site",
    r"podAnnotations.kubectl\.kubernetes\.io/default-container=site",
    "nodeAffinity.required.nodeSelectorTerms=",
    "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.matchExpressions[0].key=a",
    "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].key=a",
    "nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight=1",
    "controller.affinity.nodeAffinity.nodeSelectorTerms[0].key=a",
]
#: Profiles that a block of YAML would break or change.
TEXTS = [
    "  # indented\nname: site\n",
    "\n",
    "\n\n  a\nb",
    "a\r\nb\r\n",
    "\ta: b  \n\n\n",
    "a: '\"\\'\n---\n{{ .b }}\n",
    "\ufeffa\x85b\u2028é😀\n",
]


def own(tmp_path, **more):
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump({**OWN, **more}))
    return path


def the(objects, kind, name):
    (found,) = (one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return found


@pytest.mark.parametrize("overlays", VARIANTS, ids="+".join)
def test_the_chart_makes_what_the_kustomizations_make(overlays):
    assert named(templated(*VARIANTS[overlays])) == named(rendered(*overlays))


def test_the_chart_passes_helms_own_strict_review():
    for options in ((), *VARIANTS.values()):
        done = linted(*options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "1 chart(s) linted, 0 chart(s) failed" in done.stdout


def test_the_chart_and_its_image_are_this_version():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_value_is_refused(mistake):
    done = helm("template", "hostagent", CHART, "--set", mistake)
    assert done.returncode == 1
    assert "values don't meet the specifications of the schema" in done.stderr


def test_one_account_for_the_agent_and_the_controller_is_refused():
    options = ("--set", "serviceAccountName=one,controller.serviceAccountName=one")
    assert helm("template", "hostagent", CHART, *options).returncode == 0
    done = helm("template", "hostagent", CHART, *options, "--set", "controller.enabled=true")
    assert done.returncode == 1
    assert 'serviceAccountName and controller.serviceAccountName are both "one", wanted two' in done.stderr


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_of_a_profile_arrives_as_it_is(text, tmp_path):
    (tmp_path / "profile.yaml").write_text(text, newline="")
    found = the(templated("--set-file", f"profile={tmp_path / 'profile.yaml'}"), "ConfigMap", "hostagent-profile")
    assert found["data"]["profile.yaml"] == text


def test_without_a_cluster_a_release_of_the_namespace_itself_is_rendered_whole():
    assert named(templated("-n", "hostagent")) == named(rendered("observe"))


def test_a_cluster_without_the_policys_kind_is_refused():
    """Its kinds are told to Helm, as it would find them there."""
    done = helm("template", "hostagent", CHART, "--kube-version", "1.29.0", "--api-versions", "v1/Namespace")
    assert done.returncode == 1
    assert "found Kubernetes v1.29.0, wanted 1.30 or newer" in done.stderr


def leaves(value, path=()):
    if isinstance(value, dict) and value and path[-1:] not in (("resources",), ("nodeSelector",)):
        for key, one in value.items():
            yield from leaves(one, (*path, key))
    else:
        yield path


def test_each_value_has_a_comment_is_in_the_schema_and_used():
    text = (CHART / "values.yaml").read_text()
    schema = json.loads((CHART / "values.schema.json").read_text())
    templates = "".join(path.read_text() for path in sorted((CHART / "templates").iterdir()))
    found = list(leaves(yaml.safe_load(text)))
    assert len(found) > 30
    for path in found:
        place = schema
        for key in path:
            place = place["properties"][key]
        assert f".Values.{'.'.join(path)}" in templates, path
    lines = text.splitlines()
    for before, line in itertools.pairwise(lines):
        key = line.strip().partition(":")[0]
        if line.strip() and not line.strip().startswith(("#", "- ")) and key not in {"requests", "limits", "enabled", "kubernetes.io/os"}:
            assert before.strip().startswith("#"), f"no comment above {line!r}"


def test_own_values_are_where_they_belong(tmp_path):
    objects = templated("-f", own(tmp_path))
    assert {one["metadata"].get("namespace") for one in objects} == {"gpu-health", "default", None}
    assert the(objects, "Namespace", "gpu-health")
    spec = the(objects, "DaemonSet", "hostagent")["spec"]
    pod = spec["template"]["spec"]
    image = "registry.example.com/gpu/hostagent@sha256:" + "a" * 64
    assert (pod["serviceAccountName"], pod["imagePullSecrets"]) == ("agent", [{"name": "pull"}])
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux", "example.com/pool": "gpu"}
    assert pod["affinity"] == {"nodeAffinity": OWN["nodeAffinity"]}
    assert (pod["tolerations"], spec["updateStrategy"]["rollingUpdate"]) == (OWN["tolerations"], {"maxUnavailable": 3})
    assert spec["template"]["metadata"]["labels"] == {"app.kubernetes.io/name": "hostagent", "example.com/team": "gpu"}
    container = pod["containers"][0]
    assert (container["image"], container["imagePullPolicy"]) == (image, "Always")
    assert container["args"][-4:] == ["--prefix=gpu.example.com", "--kubernetes-events", *OWN["extraArgs"]]
    assert the(objects, "ConfigMap", "hostagent-profile")["data"]["profile.yaml"] == OWN["profile"]
    closer = the(objects, "Deployment", "hostagent-controller")["spec"]
    assert (closer["replicas"], closer["template"]["spec"]["serviceAccountName"]) == (3, "closer")
    container = closer["template"]["spec"]["containers"][0]
    assert container["args"][2:] == ["--namespace=gpu-health", "--prefix=gpu.example.com", "--max-tainted=30%"]
    assert container["image"] == image
    assert [port["port"] for port in the(objects, "NetworkPolicy", "hostagent")["spec"]["egress"][0]["ports"]] == [16443]
    rule = the(objects, "NodeReadinessRule", "hostagent-ready")["spec"]
    assert (rule["conditions"][0]["type"], rule["nodeSelector"]) == ("gpu.example.com/Ready", OWN["readinessRules"]["nodeSelector"])


def test_what_is_switched_off_is_not_there():
    off = ("--set=createNamespace=false,resourceQuota=false,networkPolicy.enabled=false,controller.enabled=true",)
    left = {key[1:] for key in named(rendered("observe", "controller"))} - {key[1:] for key in named(templated(*off))}
    assert left == {
        ("Namespace", "", "hostagent"),
        ("ResourceQuota", "hostagent", "hostagent-critical-pods"),
        ("NetworkPolicy", "hostagent", "hostagent"),
        ("NetworkPolicy", "hostagent", "hostagent-controller"),
    }


def test_own_values_pass_a_strict_dry_run_of_the_server(cluster, tmp_path):
    readinessrules.apply_crd(cluster)
    objects = templated("-f", own(tmp_path))
    assert len(dry_run(cluster, objects)) == len(objects)


@contextlib.contextmanager
def without_kustomizations(folder, *flags):
    """A control plane of its own; what the tests' begins with is deleted."""
    with control.started(folder / "plane", flags=flags) as plane:
        assert kubectl("delete", "--wait=false", "-k", DAEMONSET / "binding", cluster=plane).returncode == 0
        eventually(lambda: plane.ask("GET", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/hostagent").status_code == 404)
        yield plane


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """With a release of own values."""
    folder = tmp_path_factory.mktemp("helm")
    with without_kustomizations(folder) as plane:
        readinessrules.apply_crd(plane)
        done = helm("install", "hostagent", CHART, "-f", own(folder), cluster=plane)
        assert done.returncode == 0, done.stderr
        assert "kubectl -n gpu-health get pods" in done.stdout
        yield plane


def as_agent(account, node):
    return acting_as(account, **{"authentication.kubernetes.io/node-name": node})


def labelled(cluster, node, label, user):
    body = {"metadata": {"labels": {label: str(time.monotonic_ns())}}}
    return cluster.ask("PATCH", f"/api/v1/nodes/{node}/status", body, kind=STRATEGIC, headers=as_agent(user, "mine")).status_code


def test_the_policy_of_a_release_holds_its_own_account_to_its_node_and_prefix(installed):
    user = "system:serviceaccount:gpu-health:agent"
    for name in ("mine", "other"):
        installed.node(name)
    eventually(lambda: labelled(installed, "mine", "example.com/foreign", user) == 422)
    assert labelled(installed, "mine", "gpu.example.com/ready", user) == 200
    assert labelled(installed, "mine", "hostagent.dev/ready", user) == 422
    assert labelled(installed, "other", "gpu.example.com/ready", user) == 422
    assert labelled(installed, "mine", "gpu.example.com/ready", "system:serviceaccount:hostagent:hostagent") == 403


def test_a_release_is_upgraded_and_leaves_nothing(installed, tmp_path):
    done = helm("upgrade", "hostagent", CHART, "-f", own(tmp_path, unprivileged=True, controller={"enabled": False}), cluster=installed)
    assert done.returncode == 0, done.stderr
    pod = installed.admin("GET", "/apis/apps/v1/namespaces/gpu-health/daemonsets/hostagent")["spec"]["template"]["spec"]
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["SYSLOG", "SYS_CHROOT"]}
    assert "privileged" not in pod["containers"][0]["securityContext"]
    assert installed.ask("GET", "/apis/apps/v1/namespaces/gpu-health/deployments/hostagent-controller").status_code == 404
    assert helm("uninstall", "hostagent", cluster=installed).returncode == 0
    for place in (
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/hostagent",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/hostagent-own-words",
        "/apis/apps/v1/namespaces/gpu-health/daemonsets/hostagent",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/hostagent-events",
    ):
        eventually(lambda place=place: installed.ask("GET", place).status_code == 404)


SPACE = "/api/v1/namespaces/hostagent"
STRICT = {
    "apiVersion": "apiserver.config.k8s.io/v1",
    "kind": "AdmissionConfiguration",
    "plugins": [
        {
            "name": "PodSecurity",
            "configuration": {
                "apiVersion": "pod-security.admission.config.k8s.io/v1",
                "kind": "PodSecurityConfiguration",
                "defaults": {"enforce": "baseline"},
            },
        }
    ],
}


@pytest.fixture
def strict(tmp_path):
    """Admits no privileged pod where no label says so, and has no namespace hostagent: no namespace controller runs, so the test ends it."""
    (tmp_path / "admission.yaml").write_text(yaml.safe_dump(STRICT))
    with without_kustomizations(tmp_path, f"--admission-control-config-file={tmp_path / 'admission.yaml'}") as plane:
        ended = plane.admin("GET", SPACE)
        ended["spec"]["finalizers"] = []
        plane.admin("PUT", f"{SPACE}/finalize", ended)
        eventually(lambda: plane.ask("GET", SPACE).status_code == 404)
        yield plane


def agent_is_admitted(cluster):
    template = cluster.admin("GET", "/apis/apps/v1/namespaces/hostagent/daemonsets/hostagent")["spec"]["template"]
    answer = cluster.ask("POST", f"{SPACE}/pods?dryRun=All", {"metadata": {"generateName": "p-"}, "spec": template["spec"]})
    assert answer.status_code in (201, 403), answer.text
    return answer.ok


def labelling(done):
    """The lines of a release's notes that label its namespace."""
    assert done.returncode == 0, done.stderr
    return [line.strip() for line in done.stdout.splitlines() if "kubectl label" in line]


def test_a_release_of_the_namespace_itself_is_installed_upgraded_and_installed_again(strict):
    release = ("hostagent", CHART, "-n", "hostagent")
    (line,) = labelling(helm("install", *release, "--create-namespace", cluster=strict))
    assert not agent_is_admitted(strict)
    assert line in (CHART / "values.yaml").read_text()
    assert kubectl(*shlex.split(line)[1:], cluster=strict).returncode == 0
    assert agent_is_admitted(strict)
    assert labelling(helm("upgrade", *release, cluster=strict)) == []
    assert helm("uninstall", "hostagent", "-n", "hostagent", cluster=strict).returncode == 0
    assert labelling(helm("install", *release, "--create-namespace", cluster=strict)) == []
    assert strict.admin("GET", SPACE)["status"] == {"phase": "Active"}


def test_a_namespace_that_a_release_has_adopted_stays_when_it_is_upgraded(strict):
    owner = {"meta.helm.sh/release-name": "hostagent", "meta.helm.sh/release-namespace": "hostagent"}
    metadata = {"name": "hostagent", "annotations": owner, "labels": {"app.kubernetes.io/managed-by": "Helm"}}
    strict.admin("POST", "/api/v1/namespaces", {"metadata": metadata})
    for verb in ("install", "upgrade"):
        assert labelling(helm(verb, "hostagent", CHART, "-n", "hostagent", cluster=strict)) == []
        assert agent_is_admitted(strict)
        assert strict.admin("GET", SPACE)["status"] == {"phase": "Active"}


def test_a_release_elsewhere_makes_the_namespace(strict):
    assert labelling(helm("install", "hostagent", CHART, cluster=strict)) == []
    assert agent_is_admitted(strict)
    assert labelling(helm("upgrade", "hostagent", CHART, cluster=strict)) == []
    assert strict.admin("GET", SPACE)["status"] == {"phase": "Active"}
