"""What daemonset/ holds for a cluster, by the real programs: kustomizations as kubectl renders them, the chart as Helm does."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from tests.real.cluster import ROOT, Cluster
from tests.real.conftest import need_real

DAEMONSET = ROOT / "daemonset"
CHART = DAEMONSET / "chart"
#: The kustomizations below daemonset/overlays that apply to any cluster, as the chart's options have them.
VARIANTS = {
    ("observe",): (),
    ("observe-unprivileged",): ("--set=unprivileged=true",),
    ("observe", "controller"): ("--set=controller.enabled=true",),
    ("observe", "events"): ("--set=events=true",),
    ("observe", "readiness-rules"): ("--set=readinessRules.enabled=true",),
    ("observe", "readiness-rules-in-force"): ("--set=readinessRules.enabled=true,readinessRules.dryRun=false",),
    ("observe", "class-affinity"): ("--set=classAffinity=true",),
    ("observe", "class-affinity-v1beta1"): ("--set=classAffinity=true,classAffinityApiVersion=v1beta1",),
    ("observe", "gate"): ("--set=gateNamespaces={default}",),
    ("observe", "monitoring"): ("--set=monitoring=true",),
    ("observe-unprivileged", "controller", "events", "monitoring"): (
        "--set=unprivileged=true,controller.enabled=true,events=true,monitoring=true",
    ),
}
_Key = tuple[str, str, str, str]


def kubectl(*arguments: object, cluster: "Cluster | None" = None, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    """The real one; with `cluster` as its administrator."""
    program = need_real("kubernetes-1.35/kubectl", "bash tests/real/install_kubernetes.sh")
    config = ("--kubeconfig", cluster.kubeconfig(Path(cluster.folder) / "kubectl.kubeconfig")) if cluster else ()
    return _done([program, *config, *arguments], stdin)


def helm(*arguments: object, cluster: "Cluster | None" = None) -> "subprocess.CompletedProcess[str]":
    """The real one; with `cluster` as its administrator."""
    program = need_real("cluster-tools/helm", "bash tests/real/install_cluster_tools.sh")
    config = ("--kubeconfig", cluster.kubeconfig(Path(cluster.folder) / "helm.kubeconfig")) if cluster else ()
    return _done([program, *arguments, *config], "")


def _done(argv: "list[object]", stdin: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(list(map(str, argv)), input=stdin, capture_output=True, text=True, check=False, timeout=180)


def rendered(*overlays: str) -> "list[Any]":
    """Of the kustomizations below daemonset/overlays, in their order; `events` with the option that its component adds to the agent."""
    found = [one for name in overlays for one in kustomized(DAEMONSET / "overlays" / name)]
    if "events" in overlays:
        agent = next(one for one in found if one["kind"] == "DaemonSet")
        agent["spec"]["template"]["spec"]["containers"][0]["args"].append("--kubernetes-events")
    return found


def kustomized(folder: Path) -> "list[Any]":
    """What `kubectl kustomize` makes of it, in its order."""
    return _documents(kubectl("kustomize", folder))


def templated(*options: object, chart: Path = CHART) -> "list[Any]":
    """What `helm template` makes of the chart, in its order."""
    return _documents(helm("template", "hostagent", chart, *options))


def linted(*options: object) -> "subprocess.CompletedProcess[str]":
    """`helm lint --strict` of the chart."""
    return helm("lint", "--strict", CHART, *options)


def _documents(done: "subprocess.CompletedProcess[str]") -> "list[Any]":
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def named(objects: "Iterable[Any]") -> "dict[_Key, Any]":
    """By what names an object: each is there once."""
    found: dict[_Key, Any] = {}
    for one in objects:
        metadata = one["metadata"]
        key = (one["apiVersion"], one["kind"], metadata.get("namespace", ""), metadata["name"])
        assert key not in found, key
        found[key] = one
    return found


def dry_run(cluster: Cluster, objects: "Iterable[Any]") -> "list[str]":
    """A strict server-side dry run of kubectl: one line for each object. What creates a namespace is made for good before, because a
    dry run makes none for the objects in it.
    """
    listed = list(objects)
    for one in listed:
        if one["kind"] == "Namespace":
            made = kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", cluster=cluster, stdin=json.dumps(one))
            assert made.returncode == 0, made.stderr
    text = "".join(f"---\n{json.dumps(one)}\n" for one in listed)
    options = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
    done = kubectl("apply", *options, "-f", "-", cluster=cluster, stdin=text)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", done.stderr
    return done.stdout.splitlines()
