"""The recorded hosts of ``tests/hosts``: each is loaded and judged once in a worker of the tests."""

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from hostagent.engine.report import Report
from hostagent.host import recording
from hostagent.host.recording import ReplayBackend, Tape
from hostagent.profiles import profile
from tests.judged import judged

HOSTS = Path(__file__).parent / "hosts"
NAMES = sorted(path.parent.name for path in HOSTS.glob("*/tape.json"))
#: At least one host of each two features that some host has together, and of each place that a value of a report can have: for claims that
#: all formats and tapes share.
PAIRED = (
    "a6000-pair-translated",
    "aks-gpu-other-cgroups",
    "almalinux9-copied-module",
    "almalinux9-weak-modules",
    "amazon-linux-2023",
    "azure-nd-h100-v5",
    "bottlerocket",
    "bottlerocket-ldconfig-failed",
    "cdi-etc-wins",
    "containerd-restarts",
    "crio-worker-wrong-directory",
    "debian12-alternative-gone",
    "debian12-image-without-kernel",
    "debian12-own-driver",
    "debian12-runfile",
    "dgx-spark",
    "docker-enforcing-labels",
    "docker-snap",
    "docker-snap-without-entry",
    "eks-al2023-kubelet-dead",
    "eks-al2023-module-did-not-load",
    "eks-by-flags",
    "flatcar",
    "flatcar-after-update",
    "g5-uncontained-error",
    "gb200-nvl",
    "gke-cos-without-plugin",
    "gke-ubuntu",
    "gke-ubuntu-libraries-empty",
    "gpu-operator-driver-container",
    "gpu-operator-mig",
    "hgx-h100-fabricmanager-mismatch",
    "hgx-h100-gpu-off-the-bus",
    "hgx-h100-nccl-prefix",
    "hgx-h100-roce-bond-half",
    "hgx-h100-roce-class-of-driver",
    "hgx-h100-roce-exclusive",
    "hgx-h100-roce-one-rail-1500",
    "hgx-h100-roce-one-subnet",
    "hgx-h100-userland-upgraded",
    "hgx-h100-without-peermem",
    "incus-slurm-without-log",
    "jetson-orin",
    "k3s-worker",
    "kubeadm-single-numa-node",
    "kubelet-lost-its-file",
    "kubelet-restarts",
    "kubevirt-unexplained",
    "microk8s-addon",
    "no-gpu-vm",
    "openshift-4.20",
    "openshift-driver-pod-gone",
    "p5-efa-without-libfabric",
    "p5-vm-seven-gpus",
    "podman-without-cdi",
    "rhel9-bls-newest",
    "rhel9-hmm-without-range",
    "rhel9-module-streams",
    "sles15-kmp",
    "sles15-next-entry",
    "slurm-dead-docker",
    "slurm-gres-five",
    "slurm-limits-used-up",
    "sriov-pod",
    "t4-log-wrapped",
    "t4-xid-cleared",
    "talos",
    "talos-kubelet-dead",
    "talos-without-toolkit",
    "toolkit-root-left-behind",
    "uvm-nodes-never",
    "vm-flat-tree",
    "workstation-nouveau-has-both",
    "wsl2",
    "wsl2-fault",
)
#: A test of each host: of the paired ones for every change, of all before a release.
each_host = pytest.mark.parametrize(
    "name", [*PAIRED, *(pytest.param(name, marks=pytest.mark.full) for name in NAMES if name not in PAIRED)]
)
#: Of the run, not of the host: what it costs is another time each time.
_TOOK_MS = 40.0


@functools.cache
def tape_of(name: str) -> Tape:
    return recording.load(str(HOSTS / name))


@functools.cache
def expectation_of(name: str) -> dict[str, Any]:
    return yaml.load((HOSTS / name / "expect.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


@functools.cache
def profile_of(name: str) -> profile.Loaded:
    """The profile that the host's expectation names."""
    return profile.load(expectation_of(name)["profile"], site_file="")


@functools.cache
def report_of(name: str) -> Report:
    """As ``hostagent check --from tests/hosts/NAME`` makes it; the run took 0.04 s."""
    made = judged(ReplayBackend(tape_of(name)), profile_of(name), replayed=True, recorded_at=tape_of(name).recorded_at)
    return replace(made, timings_ms={"total": _TOOK_MS})


def features(name: str) -> dict[str, str]:
    """What a claim about reports may depend on: where the host runs, what starts its containers, and what is wrong with it."""
    made = report_of(name)
    rows = made.facts["runtimes"]
    kinds = [one["kind"] for one in rows if one["state"] != "absent"] if isinstance(rows, list) else ["unread"]
    return {
        "platform": made.host.platform or made.host.os.partition(" ")[0],
        "runtime": "+".join(sorted(kinds)),
        "fault": expectation_of(name)["causes"][0].partition(".")[0] if expectation_of(name).get("causes") else "none",
    }


def pairs(names: Iterable[str]) -> set[Any]:
    """Each two features that some host of these has together, and each place in a report where one has a value."""
    found: set[Any] = set()
    for name in names:
        found.update(itertools.combinations(sorted(features(name).items()), 2))
        found.update(_places(report_of(name).facts))
    return found


def _places(value: Any, path: str = "") -> Iterator[str]:
    """Of each text, number and truth below, without indexes."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _places(one, f"{path}/{'#' if str(key)[:1].isdigit() else key}")
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _places(one, f"{path}[]")
    else:
        yield f"{path}: {type(value).__name__}"
