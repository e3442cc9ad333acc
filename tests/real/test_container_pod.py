"""The image in a pod as each overlay asks for it: what it sees, what it costs, what it leaves behind.

Its hosts are made trees whose driver is a stub; tests/real/test_container_host.py has a booted one. podman and runc stand in for a node's
container runtime, and take rights, mounts, limits and arguments out of the rendered DaemonSet.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

from tests import stub_nvml
from tests.real import imagerun
from tests.real.daemonrun import eventually
from tests.trees import hosts

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="containers of root: run 'sudo make test'"),
    pytest.mark.full,
]
CLOCK = """checks:
  host.clock_synchronised: {off: "the clock is this machine's"}
"""
PROFILES = {
    "observe": f'schema_version: "1.5"\nname: cluster\nextends: default\n{CLOCK}',
    "observe-unprivileged": (
        f'schema_version: "1.5"\nname: cluster\nextends: default\nnvml: optional\nverbs: optional\npci_configuration: optional\n{CLOCK}'
    ),
}
FORMS = tuple(PROFILES)
#: All that the daemon leaves on its host.
LEFT = {
    "run/hostagent": {"state.json", "summary.json", "report.json", "told.json", "history.json", "daemon.lock", "files.lock"},
    "var/lib/hostagent-daemon": {"record.json"},
}
#: Of a host that is none the daemon wants to be told where its files are: where they are on any other.
MADE = ("--state-dir=/host/run/hostagent", "--history-dir=/host/var/lib/hostagent-daemon")
_GET = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=60).read().decode())"


@pytest.fixture
def tree(tmp_path):
    hosts.hgx_h100_here(tmp_path / "tree")
    return tmp_path / "tree"


def pod_of(overlay, tree, tmp_path, profile=""):
    (tmp_path / "kubelet").mkdir(exist_ok=True)
    return imagerun.Pod(overlay, tree, tmp_path / "kubelet", profile or PROFILES[overlay])


def checked(pod, *more):
    """The report of one check in the pod's container."""
    done = imagerun.once(pod, "check", "--host-root=/host", "--profile=/etc/hostagent/profile.yaml", "--json", more=more)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def outside(tree, tmp_path, overlay="observe"):
    """That of a check in no container."""
    (tmp_path / "profile.yaml").write_text(PROFILES[overlay])
    argv = [sys.executable, "-m", "hostagent", "check", f"--host-root={tree}", f"--profile={tmp_path / 'profile.yaml'}", "--json"]
    return json.loads(subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120).stdout)


def judged(report):
    return {(one["id"], one["subject"]): (one["outcome"], one["code"]) for one in report["findings"]}


def test_the_privileged_pod_finds_what_root_on_the_host_finds(tree, tmp_path):
    seen = checked(pod_of("observe", tree, tmp_path))
    assert seen["verdict"] == {"single_node": "ready", "multi_node": "ready"}
    assert judged(seen) == judged(outside(tree, tmp_path))
    assert {one["memory_bytes"] for one in seen["facts"]["gpus"]} == {85520809984}, "NVML was asked, by the library of the host"


@pytest.mark.parametrize("overlay", FORMS)
def test_verdict_and_findings_are_the_same_at_the_cpu_limit_with_every_core_loaded(overlay, tree, tmp_path):
    """Against a container that may have all."""
    pod = pod_of(overlay, tree, tmp_path)
    assert [one for one in pod.options() if one.startswith("--cpus=")], "the manifest sets a limit"
    free = checked(pod, "--cpus=0")
    with ExitStack() as load:
        for _ in range(os.cpu_count() or 1):
            load.callback(load.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"])).kill)
        limited = checked(pod)
    assert limited["verdict"] == free["verdict"] == {"single_node": "ready", "multi_node": "ready"}
    assert judged(limited) == judged(free)


@pytest.mark.parametrize("overlay", FORMS)
def test_the_daemon_writes_what_the_page_lists_and_nothing_else(overlay, tree, tmp_path):
    pod = pod_of(overlay, tree, tmp_path)
    before = {path for path in tree.rglob("*") if "hostagent" not in str(path.relative_to(tree))}
    with imagerun.running(pod, "--passwd=false", arguments=MADE) as container:
        eventually((pod.state / "summary.json").exists, 60)
        eventually((tree / "var/lib/hostagent-daemon/record.json").exists, 60)
        changed = imagerun.podman("diff", container).stdout.split("\n")
        mounts = ("/etc", "/host", "/run", "/run/secrets", "/var", "/var/run")
        assert [
            one for one in changed if one and one[2:] not in mounts and not one[2:].startswith(("/etc/hostagent", "/run/secrets/", "/host"))
        ] == []
        assert imagerun.podman("stop", "--time=10", container).returncode == 0
        assert imagerun.podman("inspect", "--format={{.State.ExitCode}}", container).stdout == "0\n", "SIGTERM ended it in time"
    for folder, names in LEFT.items():
        assert {one.name for one in (tree / folder).iterdir()} <= names
    assert {path for path in tree.rglob("*") if "hostagent" not in str(path.relative_to(tree))} == before


def test_without_privileges_every_surface_says_what_was_not_read(tree, tmp_path):
    pod = pod_of("observe-unprivileged", tree, tmp_path)
    with imagerun.running(pod, arguments=MADE) as container:
        eventually(lambda: conditions(pod).get("Ready", {}).get("status") == "True", 60)
        metrics = asked(container, "/metrics")
        status = imagerun.podman(
            "exec", container, "/opt/hostagent/bin/hostagent", "status", "--state-file=/host/run/hostagent/state.json", check=False
        ).stdout
    word = json.loads((pod.state / "summary.json").read_text())["coverage"]
    assert word.startswith("host-only")
    assert f"(coverage {word})" in conditions(pod)["Ready"]["message"]
    assert f'hostagent_coverage_info{{coverage="{word}"}} 1\n' in metrics
    assert "no answer from NVML, libibverbs" in status
    for form, said in {
        "text": "(coverage ",
        "line": f"coverage: {word}",
        "html": "(coverage ",
        "junit": "(coverage ",
        "prometheus": word,
    }.items():
        done = imagerun.once(pod, "check", "--host-root=/host", "--profile=/etc/hostagent/profile.yaml", f"--format={form}")
        assert said in done.stdout, form


def conditions(pod):
    """The conditions that its state file has, by type."""
    if not (pod.state / "state.json").exists():
        return {}
    return {one["type"]: one for one in json.loads((pod.state / "state.json").read_text())["conditions"]}


def asked(container, path):
    """What it answers in its own network, as the kubelet asks it there; "" for 503."""
    first = imagerun.podman("inspect", "--format={{.State.Pid}}", container).stdout.strip()
    argv = ["nsenter", f"--target={first}", "--net", sys.executable, "-c", _GET, f"http://127.0.0.1:9476{path}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=90)
    assert done.returncode == 0 or "HTTP Error 503" in done.stderr, done.stderr
    return done.stdout


def test_probes_are_answered_in_time_while_nvml_hangs(tree, tmp_path):
    """From the first pass on, which waits for NVML, to the report that says so."""
    table = tree / stub_nvml.TABLE
    table.write_text(f"DeviceGetTemperature 3 hang\n{table.read_text()}")
    pod = pod_of("observe", tree, tmp_path)
    report, slowest = pod.state / "report.json", dict.fromkeys(("livenessProbe", "readinessProbe"), 0.0)

    def is_told():
        for name in slowest:
            began = time.monotonic()
            answered = asked(container, pod.probe(name)["httpGet"]["path"])
            slowest[name] = max(slowest[name], time.monotonic() - began)
            assert answered or name == "readinessProbe", "the loop is alive all the time"
        return report.exists() and any(one["outcome"] == "unknown" and "in time" in one["message"] for one in findings(report))

    with imagerun.running(pod, arguments=MADE) as container:
        eventually((pod.state / "state.json").exists, 60)
        eventually(is_told, 120)
    assert json.loads((pod.state / "summary.json").read_text())["verdict"]["single_node"] == "unknown"
    for name, seconds in slowest.items():
        limit = pod.probe(name)["timeoutSeconds"]
        assert limit > 15, "longer than an NVML call that hangs"
        assert 0 < seconds < limit / 4, name


def findings(report):
    return json.loads(report.read_text())["findings"]


def test_a_profile_that_the_kubelet_exchanges_is_read_again(tree, tmp_path):
    """Its directory is everybody's to write, and what it shows are links."""
    pod = pod_of("observe", tree, tmp_path)
    with imagerun.running(pod, arguments=MADE) as container:
        eventually((pod.state / "state.json").exists, 60)
        profile = pod.volume("profile")
        assert profile.stat().st_mode & 0o777 == 0o777
        imagerun.kubelet_volume(profile, {"profile.yaml": PROFILES["observe"].replace("name: cluster", "name: another")})
        eventually(lambda: json.loads((pod.state / "state.json").read_text())["profile"]["name"].startswith("another"), 60)
        assert "event=reload" in imagerun.podman("logs", container).stderr


@pytest.mark.parametrize("environment", [(), ("--env=NVIDIA_VISIBLE_DEVICES=all", "--env=NVIDIA_DRIVER_CAPABILITIES=all")])
def test_a_broken_nvidia_runtime_is_a_finding_and_no_obstacle(environment, tree, tmp_path):
    """The pod asks for no runtime class and no GPU: the node's own handler starts it, and it reads the driver from the host's files."""
    (tree / "usr/bin/nvidia-container-runtime").unlink()
    pod = pod_of("observe", tree, tmp_path)
    assert "runtimeClassName" not in pod.spec
    assert not [one for one in pod.options() if "NVIDIA" in one]
    assert "nvidia.com/gpu" not in pod.limits()
    seen = checked(pod, *environment)
    assert seen["verdict"]["single_node"] == "not_ready"
    assert judged(seen) == judged(outside(tree, tmp_path))
    broken = {one["id"] for one in seen["findings"] if one["outcome"] == "fail"}
    assert any(name.startswith("runtime.") for name in broken), broken
    assert judged(seen)["driver.nvml_initialises", ""][0] == "pass"
