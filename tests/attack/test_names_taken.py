"""Whoever takes a daemon's name changes no verdict, and has root read no file of his choice: the healthy eight-GPU host with a user on it."""

import os
import shutil
import time

import pytest

from hostagent import snapshot
from hostagent.engine.collection import InProcess
from hostagent.host import recording
from hostagent.profiles import profile
from tests.judged import judged
from tests.trees import hosts, system
from tests.trees.staged import stage
from tests.trees.system import Daemon

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("gcc"), reason="device nodes need root, the stub of NVML gcc"),
]
POD = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod5c1e.slice/cri-containerd-77f0.scope"
#: Where a process of somebody else may be.
PLACES = {
    "a user's session": {"uid": 1000, "cgroup": "/user.slice/user-1000.slice/session-3.scope"},
    "a user's manager": {"uid": 1000, "cgroup": "/user.slice/user-1000.slice/user@1000.service/app.slice/nvidia-fabricmanager.service"},
    "a pod": {"cgroup": POD, "ids": 2},
    "a pod with the host's process ids": {"cgroup": POD, "root": "/srv"},
    "a kind node": {"cgroup": "/system.slice/docker-2e.scope/system.slice/nvidia-fabricmanager.service", "ids": 2},
}


@pytest.fixture
def tree(tmp_path):
    return hosts.hgx_h100(tmp_path / "host")


def report(tree):
    with stage(tree) as backend:
        return judged(backend, profile.load(site_file=""))


def findings(tree):
    return {(one.id, one.subject): (one.outcome, one.code, one.found) for one in report(tree).findings}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_dead_fabric_manager_stays_dead(tree, place):
    """Before, the host was degraded, and so placeable."""
    system.stop(tree, 870, "nvidia-fabricmanager.service")
    system.run(tree, Daemon(4000, ("/srv/nv-fabricmanager",), **place))
    found = report(tree)
    assert found.verdict.single_node == "not_ready"
    assert [one.outcome for one in found.findings if one.id == "nvswitch.manager_running"] == ["fail"]


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_dead_containerd_stays_dead_though_somebody_listens_on_its_path(tree, place):
    """Its file is left behind, and anybody may bind the same path in a namespace of his own."""
    system.stop(tree, 901, "containerd.service")
    system.run(tree, Daemon(4000, ("/srv/containerd",), **place))
    found = report(tree)
    assert found.verdict.single_node == "not_ready"
    assert [one.outcome for one in found.findings if one.id == "runtime.service_running"] == ["fail"]


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_no_name_that_is_taken_changes_a_judgement(tree, place):
    """Before, a docker-in-docker pod was enough for an unknown, and a containerd with a file of his own for not ready."""
    before = findings(tree)
    tree.write("/home/eve/x.toml", "version = 2\n[[[garbage")
    names = ("dockerd", "crio", "kubelet", "nvidia-persistenced", "nvidia-imex", "k3s-agent", "chronyd")
    system.run(tree, *(Daemon(4000 + number, (f"/srv/{name}",), **place) for number, name in enumerate(names)))
    system.run(tree, Daemon(80, ("/srv/containerd", "-c", "/home/eve/x.toml"), **place))
    system.run(
        tree, Daemon(81, ("/srv/slurmd",), limits="Max locked memory         65536              65536              bytes     \n", **place)
    )
    assert findings(tree) == before


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_no_file_that_somebody_names_is_read_or_recorded(tree, place):
    """Before, /etc/shadow was on the tape, and what his own file imports."""
    tree.write("/etc/shadow", "root:$6$salt$hash:19000::::::\n", mode=0o600)
    tree.write("/root/.docker/config.json", '{"version": "s3cr3t-of-root-0600"}', mode=0o600)
    tree.write("/home/eve/x.toml", 'version = 2\nimports = ["/root/.docker/*.json"]\n')
    system.run(tree, Daemon(80, ("/srv/containerd", "--config", "/etc/shadow"), **place))
    system.run(tree, Daemon(81, ("/srv/containerd", "-c", "/home/eve/x.toml"), **place))
    with stage(tree) as backend:
        recorded = snapshot.record(InProcess(backend), b"k" * 32, redact=False)
    text = recording.dumps(recorded)
    assert [question for question in recorded.answers if "shadow" in question or "/root/" in question or "/home/eve" in question] == []
    assert [word for word in ("$6$salt", "s3cr3t", "/etc/shadow", "x.toml") if word in text] == []


def test_what_a_users_process_says_is_not_read_at_all(tree):
    """Its command line may be long, and lie in a file system that does not answer: here a directory in its place would be an error."""
    system.run(tree, Daemon(4000, ("/srv/containerd",), uid=1000))
    for name in ("cmdline", "root", "exe", "limits"):
        tree.remove(f"/proc/4000/{name}")
        tree.directory(f"/proc/4000/{name}")
    assert report(tree).verdict.single_node == "ready"


@pytest.mark.parametrize("name", ["comm", "cgroup", "status", "cmdline", "stat"])
def test_a_daemon_that_cannot_be_looked_at_is_unread_and_never_not_running(tree, name):
    tree.remove(f"/proc/870/{name}")
    tree.directory(f"/proc/870/{name}/x")
    found = {(one.id, one.outcome) for one in report(tree).findings if one.id == "nvswitch.manager_running"}
    assert found == {("nvswitch.manager_running", "unknown")}


@pytest.mark.parametrize(
    ("gone", "outcome"),
    [
        ("/proc/1", "unknown"),
        ("/proc/1/comm", "unknown"),
        ("/proc/1/cgroup", "unknown"),
        ("/proc/1/status", "pass"),
    ],  # here none has to be root's
)
def test_a_host_whose_process_1_is_not_seen_says_of_no_daemon_that_it_does_not_run(tree, gone, outcome):
    tree.remove(gone)
    found = {one.id: one.outcome for one in report(tree).findings}
    assert {found["nvswitch.manager_running"], found["runtime.service_running"]} == {outcome}


def test_a_thousand_processes_of_one_name_cost_little_and_crowd_out_nobody(tree):
    system.run(tree, *(Daemon(5000 + number, ("/srv/containerd", "-c", "/x.toml"), uid=1000) for number in range(1000)))
    with stage(tree) as backend:
        started = time.process_time()
        rows = backend.ask("processes")
        took_s = time.process_time() - started
    assert [row["pid"] for row in rows if row["name"] == "containerd"] == [901]
    assert took_s < 1
