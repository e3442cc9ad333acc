"""The daemon's word on a real API server: what is said was judged lately, and each change of it is on record."""

import contextlib
import json
import os
import signal
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests

from tests.real.cluster import AS_ADMIN, apply
from tests.real.daemonrun import Daemon, eventually
from tests.real.test_daemon_loop import BROKEN, HEALTHY, HOSTS

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="files of root alone are obeyed: run 'sudo make test'")]
WORDS = "hostagent.dev/"
#: Seconds: the least there may be, and after how many of them nothing is known.
_INTERVAL_S, _DEADLINE_S = 5, 5
_STALE_S = 2 * _INTERVAL_S + _DEADLINE_S


class Watch:
    """The API server's own record of one node: what its conditions, labels and heartbeat were, in their order."""

    def __init__(self, cluster, node):
        self.seen, self._last = [], {}
        url = f"{cluster.url}/api/v1/nodes?watch=1&timeoutSeconds=300&fieldSelector=metadata.name={node}"
        self._answer = requests.get(url, headers=AS_ADMIN, verify=cluster.ca, stream=True, timeout=(10, 600))
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self):
        with contextlib.suppress(requests.RequestException, AttributeError, ValueError):
            for line in self._answer.iter_lines():
                found = json.loads(line)["object"]
                listed = {one["type"]: one for one in found.get("status", {}).get("conditions", []) if one["type"].startswith(WORDS)}
                for kind, one in listed.items():
                    if self._last.get(kind) != one["status"]:
                        self.seen.append((kind.removeprefix(WORDS), self._last.get(kind, "none"), one["status"]))
                self._last = {kind: one["status"] for kind, one in listed.items()}


class Scene(NamedTuple):
    """A node, and a daemon over a recording in `folder`."""

    cluster: Any
    folder: Path
    node: str

    def start(self, *more):
        config = self.cluster.kubeconfig(self.folder / "kubeconfig", self.cluster.token(self.node))
        limits = ("--interval", _INTERVAL_S, "--deadline", _DEADLINE_S, "--heartbeat", 30, "--log-format", "json")
        outlets = ("--nfd-file", self.folder / "nfd", "--textfile", self.folder / "host.prom")
        return Daemon(
            self.folder, "--from", self.folder / "host.json", "--kubeconfig", config, "--node-name", self.node, *limits, *outlets, *more
        )

    def is_now(self, name, boot=""):
        """The host is another recording, of another boot where that is said."""
        tape = json.loads((HOSTS / name / "tape.json").read_text())
        if boot:
            tape = json.loads(json.dumps(tape).replace(boot_of(tape), boot))
        new = self.folder / "new.json"
        new.write_text(json.dumps(tape))
        new.rename(self.folder / "host.json")

    @property
    def conditions(self):
        listed = self.cluster.get(self.node).get("status", {}).get("conditions", [])
        return {one["type"].removeprefix(WORDS): one for one in listed if one["type"].startswith(WORDS)}

    @property
    def words(self):
        """Status and reason of each condition, and both labels."""
        found = self.cluster.get(self.node)["metadata"].get("labels", {})
        labels = found.get(f"{WORDS}ready"), found.get(f"{WORDS}multi-node-ready")
        return {(one["status"], one["reason"]) for one in self.conditions.values()}, labels

    @property
    def notes(self):
        return self.cluster.get(self.node)["metadata"].get("annotations", {})

    @property
    def is_ready(self):
        return self.conditions.get("Ready", {}).get("status") == "True" and self.words[1][0] == "true"

    @property
    def is_stale(self):
        return self.words == ({("Unknown", "AgentStale")}, ("unknown", "unknown"))

    def lines(self):
        return [json.loads(line) for line in (self.folder / "errors").read_text().splitlines()]

    def outlets_know_nothing(self, running):
        verdict = {"single_node": "unknown", "multi_node": "unknown"}
        for name in ("state", "summary"):
            eventually(lambda name=name: json.loads((running.state / f"{name}.json").read_text())["verdict"] == verdict, 10)
        assert json.loads(self.notes[f"{WORDS}summary"])["verdict"] == verdict
        assert running.get("/v1/summary").json()["verdict"] == verdict
        assert "hostagent.dev/ready=unknown\n" in (self.folder / "nfd").read_text()
        for text in (running.get("/metrics").text, (self.folder / "host.prom").read_text()):
            assert 'hostagent_condition{condition="Ready",status="Unknown",reason="AgentStale"} 1\n' in text
            assert 'hostagent_ready{scope="single_node"} 0\n' in text


def boot_of(tape):
    return next(value for key, value in walk(tape) if "boot_id" in key)


def walk(value, key=""):
    """All texts of a tape with the keys above them."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from walk(one, f"{key} {name}")
    elif isinstance(value, list):
        for one in value:
            yield from walk(one, key)
    elif isinstance(value, str):
        yield key, value.strip()


def silence(scene, running, begin, end, live):
    """What is said while nothing is judged: nothing is known, told once and never again; and what comes after it."""
    heartbeat = scene.notes[f"{WORDS}heartbeat"]
    begin()
    eventually(lambda: scene.is_stale, _STALE_S + 15)
    eventually(lambda: "unknown" in (scene.folder / "nfd").read_text() and "AgentStale" in (scene.folder / "host.prom").read_text(), 10)
    scene.outlets_know_nothing(running)
    assert scene.notes[f"{WORDS}heartbeat"] >= heartbeat
    assert all(one["lastHeartbeatTime"] == scene.notes[f"{WORDS}heartbeat"] for one in scene.conditions.values()), "of the last judged pass"
    version = scene.cluster.get(scene.node)["metadata"]["resourceVersion"]
    time.sleep(40)  # more than a heartbeat
    assert scene.cluster.get(scene.node)["metadata"]["resourceVersion"] == version, "nothing more is written"
    assert running.get("/livez").status_code == 503
    assert "[-]pass" in running.get("/readyz?verbose").text
    end()
    assert eventually(lambda: scene.is_ready, 20) < live
    eventually(lambda: running.answers("/livez"), 10)


def a_loop_that_is_stopped(scene, running):
    stop, go_on = (lambda number=number: running.process.send_signal(number) for number in (signal.SIGSTOP, signal.SIGCONT))
    silence(scene, running, stop, go_on, live=10)


def a_host_that_cannot_be_read(scene, running):
    tape, away = scene.folder / "host.json", scene.folder / "away.json"
    silence(scene, running, lambda: tape.rename(away), lambda: away.rename(tape), live=12)


def a_daemon_that_is_started_again_while_nothing_is_known(scene, running):
    running.process.send_signal(signal.SIGSTOP)
    eventually(lambda: scene.is_stale, _STALE_S + 15)
    eventually(lambda: "AgentStale" in (running.state / "told.json").read_text(), 10)
    running.process.kill()
    running.process.wait()
    with scene.start() as again:
        eventually(lambda: scene.is_ready, 60)
        assert again.end() == 0


def two_reboots(scene, running):
    for boot in ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"):
        assert running.end() == 0
        assert scene.is_ready
        scene.is_now(HEALTHY, boot)
        running = scene.start()
        with running:
            eventually(lambda: scene.words == ({("Unknown", "FirstPass")}, ("unknown", "unknown")), 30)
            assert f"{WORDS}summary" not in scene.notes, "that of the boot before would be believed"
            eventually(lambda: scene.is_ready and f"{WORDS}summary" in scene.notes, 60)
            assert running.end() == 0
    turned = json.loads((running.state / "record.json").read_text())["transitions"]
    assert len({one["boot_id"] for one in turned}) == 3, "over boots"


def a_host_that_breaks_and_is_mended(scene, running):
    scene.is_now(BROKEN)
    eventually(lambda: scene.conditions["Ready"]["status"] == "False", 30)
    scene.is_now(HEALTHY)
    eventually(lambda: scene.is_ready, 40)
    faults = json.loads((running.state / "record.json").read_text())["faults"]
    assert faults
    assert all(0 < one["begin"] < one["end"] for one in faults)


def a_signal_reads_the_profile_again(scene, running):
    assert running.end() == 0
    profile = scene.folder / "profile.yaml"
    profile.write_text("schema_version: 1\nname: ours\n")
    with scene.start("--profile", profile) as again:
        eventually(lambda: scene.is_ready and again.answers("/readyz"), 60)
        again.process.send_signal(signal.SIGHUP)
        eventually(lambda: any(one["event"] == "reload" and "ours" in one["profile"] for one in scene.lines()), 10)
        profile.write_text("schema_version: 1\nname: [\n")
        again.process.send_signal(signal.SIGHUP)
        eventually(lambda: "hostagent_profile_loads 0\n" in again.get("/metrics").text, 10)
        time.sleep(_INTERVAL_S + 2)
        assert "hostagent_profile_loads 0\n" in again.get("/metrics").text, "until it does"
        assert "stays in force" in again.get("/readyz?verbose").text
        assert scene.is_ready
        assert again.process.poll() is None
        profile.write_text("schema_version: 1\nname: theirs\n")
        again.process.send_signal(signal.SIGHUP)
        eventually(lambda: "hostagent_profile_loads 1\n" in again.get("/metrics").text, 10)
        assert again.end() == 0


def a_prefix_that_the_policy_does_not_know(scene, running):
    assert running.end() == 0
    with scene.start("--prefix", "example.com") as again:
        eventually(lambda: "422" in again.get("/readyz?verbose").text if again.answers("/livez") else False, 60)
        lines = again.get("/readyz?verbose").text.splitlines()
        assert any(line.startswith("[-]kubernetes") and "422" in line for line in lines)
        tries = again.get("/metrics").text
        eventually(lambda: again.get("/metrics").text != tries, 60)
        assert again.end() == 0


SCENES = (
    a_loop_that_is_stopped,
    a_host_that_cannot_be_read,
    a_daemon_that_is_started_again_while_nothing_is_known,
    two_reboots,
    a_host_that_breaks_and_is_mended,
    a_signal_reads_the_profile_again,
    a_prefix_that_the_policy_does_not_know,
)


def played(cluster, folder, play):
    """What went wrong, "" for nothing. At the end each transition of the API server's record has its line, in its order."""
    folder.mkdir()
    scene = Scene(cluster, folder, play.__name__.replace("_", "-")[:40].rstrip("-"))
    cluster.node(scene.node)
    watch = Watch(cluster, scene.node)
    scene.is_now(HEALTHY)
    try:
        with scene.start() as running:
            eventually(lambda: scene.is_ready, 120)
            play(scene, running)
            time.sleep(1)
            rows = [(one["condition"], one["from"], one["to"]) for one in scene.lines() if one["event"] in ("transition", "recovery")]
            for kind in {kind for kind, _, _ in watch.seen}:
                said, seen = [row for row in rows if row[0] == kind], [row for row in watch.seen if row[0] == kind]
                assert len(seen) >= 2
                assert is_part(seen, said), (seen, said)
            if running.process.poll() is None:
                assert running.end() == 0
                assert scene.lines()[-1]["event"] == "stop"
            assert scene.lines()[0]["event"] == "start"
    except Exception:
        return f"{play.__name__}: {traceback.format_exc()}\n{(folder / 'errors').read_text()[-1500:]}"
    return ""


def is_part(some, whole):
    """Whether all of `some` are in `whole`, in their order."""
    rest = iter(whole)
    return all(one in rest for one in some)


def test_what_is_said_was_judged_lately_and_each_change_is_on_record(cluster, tmp_path):
    """All at once: they mostly wait."""
    with ThreadPoolExecutor(len(SCENES)) as pool:
        found = pool.map(lambda play: played(cluster, tmp_path / play.__name__, play), SCENES)
        assert "\n".join(filter(None, found)) == ""


def test_an_event_is_made_for_each_transition_about_the_own_node_alone(cluster, tmp_path):
    apply(cluster, "overlays/events")
    scene = Scene(cluster, tmp_path, "events-node")
    cluster.node(scene.node)
    token, path = cluster.token(scene.node), "/api/v1/namespaces/default/events"

    def event(kind="Node", name="events-node", component="hostagent"):
        return {
            "metadata": {"generateName": "x.", "namespace": "default"},
            "involvedObject": {"kind": kind, "name": name},
            "source": {"component": component},
        }

    eventually(lambda: cluster.ask("POST", path, event(name="another"), token=token).status_code == 422, 30)  # the policy is in force
    assert cluster.ask("POST", path, event(), token=token).status_code == 201
    for refused in (event(kind="Pod"), event(component="kubelet")):
        assert cluster.ask("POST", path, refused, token=token).status_code == 422
    assert cluster.ask("GET", path, token=token).status_code == 403
    scene.is_now(HEALTHY)
    with scene.start("--kubernetes-events") as running:
        eventually(lambda: scene.is_ready, 60)
        scene.is_now(BROKEN)

        def made():
            listed = cluster.admin("GET", path)["items"]
            return [one for one in listed if one["involvedObject"]["name"] == scene.node and "hostagent-" in one["metadata"]["name"]]

        rows = [one for one in scene.lines() if one["event"] in ("transition", "recovery")]
        eventually(lambda: any(one["type"] == "Warning" and one["reason"] == "NvswitchLinks" for one in made()), 40)
        eventually(lambda: len(made()) >= len(rows), 20)
        assert all(one["involvedObject"]["uid"] == scene.node and one["source"]["host"] == scene.node for one in made())
        assert running.end() == 0


def test_a_pod_without_a_token_ends_with_what_to_do(tmp_path):
    pod = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}
    with Daemon(tmp_path, "--from", HOSTS / HEALTHY / "tape.json", environment=pod) as running:
        assert running.process.wait(30) == 2
        assert "--kubernetes off" in running.said()
    with Daemon(tmp_path, "--from", HOSTS / HEALTHY / "tape.json", "--kubernetes", "off", environment=pod) as running:
        eventually(lambda: running.answers("/livez"), 30)
        assert running.end() == 0
