"""A daemon and a real API server through what happens to both: deletions, restarts, refusals, silence. Nothing is lost, and there is no storm."""

import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.real.daemonrun import Daemon, eventually
from tests.real.test_daemon_loop import BROKEN, HEALTHY, recording

#: Seconds between full writes: the least there may be.
_HEARTBEAT_S = 30
pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="files of root alone are obeyed: run 'sudo make test'")]
WORDS = "hostagent.dev/"


class Between:
    """What stands between the daemon and the API server: passes a request on, or answers it itself, and counts."""

    def __init__(self, cluster, folder):
        self.cluster, self.asked, self.answer = cluster, [], None
        openssl = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=between"]
        self.ca = folder / "between.crt"
        subprocess.run(
            [*openssl, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key", "-out", self.ca],
            check=True,
            capture_output=True,
        )
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.ca, folder / "key")
        self.line = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self.line.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        """Who connects is refused from now on."""
        with contextlib.suppress(OSError):
            self.line.shutdown(socket.SHUT_RDWR)
        self.line.close()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._one, args=(self.line.accept()[0],), daemon=True).start()

    def _one(self, plain):
        with contextlib.suppress(OSError), plain, self.context.wrap_socket(plain, server_side=True) as line:
            head, body = _request(line)
            self.asked.append((time.monotonic(), json.loads(body)))
            words = dict(one.split(": ", 1) for one in head.split("\r\n")[1:])
            verb, path, _ = head.split(" ", 2)
            if self.answer:
                code, headers, wait_s = self.answer
                time.sleep(wait_s)
                line.sendall(f"HTTP/1.1 {code} No\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
                return
            token = words["Authorization"].removeprefix("Bearer ")
            found = self.cluster.ask(verb, path, json.loads(body), token=token, kind=words["Content-Type"])
            line.sendall(
                f"HTTP/1.1 {found.status_code} X\r\nContent-Length: {len(found.content)}\r\nConnection: close\r\n\r\n".encode()
                + found.content
            )


def _request(line):
    data = b""
    while b"\r\n\r\n" not in data:
        data += line.recv(65536) or b"\r\n\r\n"
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(int(one.split(b":")[1]) for one in head.split(b"\r\n") if one.lower().startswith(b"content-length"))
    while len(body) < length:
        body += line.recv(65536)
    return head.decode(), body


class Scene(NamedTuple):
    """A node, a daemon over a recording, and what stands between it and the API server."""

    cluster: Any
    between: Between
    folder: Path
    node: str

    def start(self, folder=None, heartbeat_s=_HEARTBEAT_S):
        """Another daemon for this node."""
        folder = folder or self.folder
        config = self.cluster.kubeconfig(folder / "kubeconfig", self.cluster.token(self.node), self.between.url)
        self.point(self.between, config)
        options = ("--kubeconfig", config, "--node-name", self.node, "--interval", 3600, "--heartbeat", heartbeat_s)
        return Daemon(folder, "--from", folder / "host.json", *options)

    @staticmethod
    def point(between, config):
        document = json.loads(config.read_text())
        document["clusters"][0]["cluster"] |= {"server": between.url, "certificate-authority": str(between.ca)}
        config.write_text(json.dumps(document))

    def condition(self, kind=f"{WORDS}Ready"):
        listed = self.cluster.get(self.node).get("status", {}).get("conditions", [])
        return next((one for one in listed if one["type"] == kind), {})

    @property
    def status(self):
        return self.condition().get("status")

    @property
    def label(self):
        return self.cluster.get(self.node)["metadata"].get("labels", {}).get(f"{WORDS}ready")

    def breaks(self):
        recording(self.folder, BROKEN)

    @property
    def storm(self):
        """The most requests in any minute."""
        moments = [moment for moment, _ in self.between.asked]
        return max(sum(began <= one < began + 60 for one in moments) for began in moments)


def conditions_of_others_survive_and_ours_turn(scene, running):
    kubelet = {
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}, {"type": "Other", "status": "False"}]}
    }
    scene.cluster.admin("PATCH", f"/api/v1/nodes/{scene.node}/status", kubelet, kind="application/strategic-merge-patch+json")
    scene.breaks()
    eventually(lambda: scene.status == "False", 20)
    assert scene.condition("Ready")["reason"] == "KubeletReady"
    assert scene.condition("Other")["status"] == "False"
    assert scene.label == "false"


def a_restart_with_the_same_verdict_is_no_transition(scene, running):
    before = {one["type"]: one["lastTransitionTime"] for one in scene.cluster.get(scene.node)["status"]["conditions"]}
    assert running.end() == 0
    count = len(scene.between.asked)
    time.sleep(1.1)  # the times of Kubernetes have whole seconds
    with scene.start(heartbeat_s=3600) as again:
        eventually(lambda: again.answers("/readyz"), 60)
        eventually(lambda: len(scene.between.asked) > count, 30)
        written = [body["status"]["conditions"] for _, body in scene.between.asked[count:]]
        assert {one["reason"] for listed in written for one in listed if "reason" in one}.isdisjoint({"FirstPass"})
        assert {one["type"]: one["lastTransitionTime"] for one in scene.cluster.get(scene.node)["status"]["conditions"]} == before
        assert again.end() == 0


def what_somebody_deletes_comes_back(scene, running):
    gone = {"metadata": {"labels": {f"{WORDS}ready": None}, "annotations": {f"{WORDS}summary": None}}}
    scene.cluster.admin("PATCH", f"/api/v1/nodes/{scene.node}", gone, kind="application/merge-patch+json")
    delete = {"status": {"conditions": [{"$patch": "delete", "type": f"{WORDS}Ready"}]}}
    scene.cluster.admin("PATCH", f"/api/v1/nodes/{scene.node}/status", delete, kind="application/strategic-merge-patch+json")
    assert (scene.status, scene.label) == (None, None)
    eventually(lambda: scene.status == "True" and scene.label == "true", 60)
    assert f"{WORDS}summary" in scene.cluster.get(scene.node)["metadata"]["annotations"]


def a_node_that_is_made_again_hears_everything(scene, running):
    since = scene.condition()["lastTransitionTime"]
    scene.cluster.admin("DELETE", f"/api/v1/nodes/{scene.node}")
    count = len(scene.between.asked)
    eventually(lambda: len(scene.between.asked) >= count + 2, 100)
    scene.cluster.node(scene.node)
    eventually(lambda: scene.status == "True" and scene.label == "true", 60)
    assert scene.condition()["lastTransitionTime"] == since, "nothing happened to the host"


def two_agents_of_one_node_say_the_same_and_write_no_more(scene, running):
    other = scene.folder / "other"
    other.mkdir()
    shutil.copy(scene.folder / "host.json", other / "host.json")
    count = len(scene.between.asked)
    with scene.start(other) as second:
        eventually(lambda: second.answers("/readyz"), 60)
        eventually(lambda: scene.status == "True", 60)  # who begins without what was told says Unknown first
        began = time.monotonic()
        count = len(scene.between.asked)
        time.sleep(20)
        assert len(scene.between.asked) - count <= 2 * (time.monotonic() - began) / 24 + 2, "the heartbeats of both"
        assert scene.status == "True"
        assert second.end() == 0


def a_server_that_refuses_for_a_while_loses_nothing(scene, running):
    """429 with Retry-After, then an error, then silence: the last word arrives, and few requests were made."""
    scene.between.answer = (429, "Retry-After: 4\r\n", 0)
    began, count = time.monotonic(), len(scene.between.asked)
    scene.breaks()
    eventually(lambda: len(scene.between.asked) > count + 1, 40)
    refused = [moment for moment, _ in scene.between.asked[count:]]
    assert refused[1] - refused[0] >= 4
    scene.between.answer = (503, "", 0)
    time.sleep(8)
    assert running.answers("/livez")
    scene.between.answer = None
    eventually(lambda: scene.status == "False", 45)
    assert scene.storm <= 9
    lines = running.get("/metrics").text
    assert 'hostagent_deliveries_total{sink="kubernetes",result="error"}' in lines
    assert time.monotonic() - began < 120


def a_server_that_is_slow_holds_up_neither_probes_nor_passes(scene, running):
    scene.between.answer = (200, "", 15)
    count = len(scene.between.asked)
    scene.breaks()
    eventually(lambda: len(scene.between.asked) > count, 40)
    eventually(lambda: running.get("/v1/summary").json()["verdict"]["single_node"] == "not_ready", 20)
    for _ in range(20):
        asked = time.monotonic()
        assert running.answers("/livez")
        assert time.monotonic() - asked < 2
        time.sleep(0.2)
    scene.between.answer = None
    eventually(lambda: scene.status == "False", 60)
    assert running.process.poll() is None


def a_token_that_is_taken_away_and_given_anew(scene, running):
    good = json.loads((scene.folder / "kubeconfig").read_text())
    bad = json.loads(json.dumps(good))
    bad["users"][0]["user"]["token"] = "expired"
    (scene.folder / "kubeconfig").write_text(json.dumps(bad))
    scene.breaks()
    eventually(lambda: "401" in running.get("/readyz?verbose").text, 40)
    assert scene.status == "True"
    good["users"][0]["user"]["token"] = scene.cluster.token(scene.node)
    (scene.folder / "kubeconfig").write_text(json.dumps(good))
    eventually(lambda: scene.status == "False", 45)
    eventually(lambda: "401" not in running.get("/readyz?verbose").text, 20)
    assert "expired" not in running.said()


def a_host_that_flips_turns_few_times_and_ends_at_its_worst(scene, running):
    """The recording changes every second for a minute."""
    turns, last = 0, scene.status
    for number in range(60):
        recording(scene.folder, BROKEN if number % 2 == 0 else HEALTHY)
        for _ in range(4):
            now = scene.status
            turns, last = turns + (now != last), now
            time.sleep(0.25)
    assert turns <= 6
    eventually(lambda: scene.status == "False" and scene.condition()["reason"] == "Flapping", 30)
    assert scene.storm <= 10
    recording(scene.folder, HEALTHY)
    time.sleep(8)
    assert scene.status == "False"


def a_server_that_is_away_is_told_when_it_is_back(scene, running):
    scene.between.close()
    scene.breaks()
    eventually(lambda: "not reached" in running.get("/readyz?verbose").text, 40)
    assert scene.status == "True"
    time.sleep(20)
    again = Between(scene.cluster, scene.folder)
    scene.point(again, scene.folder / "kubeconfig")
    eventually(lambda: scene.status == "False", 45)
    again.close()
    assert Path(f"/proc/{running.process.pid}").exists()


SCENES = (
    conditions_of_others_survive_and_ours_turn,
    a_restart_with_the_same_verdict_is_no_transition,
    what_somebody_deletes_comes_back,
    a_node_that_is_made_again_hears_everything,
    two_agents_of_one_node_say_the_same_and_write_no_more,
    a_server_that_refuses_for_a_while_loses_nothing,
    a_server_that_is_slow_holds_up_neither_probes_nor_passes,
    a_token_that_is_taken_away_and_given_anew,
    a_host_that_flips_turns_few_times_and_ends_at_its_worst,
    a_server_that_is_away_is_told_when_it_is_back,
)


def played(cluster, folder, play):
    """What went wrong, "" for nothing."""
    folder.mkdir()
    node = play.__name__.replace("_", "-")[:40].rstrip("-")
    between = Between(cluster, folder)
    scene = Scene(cluster, between, folder, node)
    cluster.node(node)
    recording(folder, HEALTHY)
    try:
        with scene.start() as running:
            eventually(lambda: scene.status == "True", 120)
            play(scene, running)
    except Exception:
        return f"{play.__name__}: {traceback.format_exc()}"
    finally:
        between.close()
    return ""


def test_nothing_is_lost_and_there_is_no_storm(cluster, tmp_path):
    """All at once: they mostly wait."""
    with ThreadPoolExecutor(len(SCENES)) as pool:
        found = pool.map(lambda play: played(cluster, tmp_path / play.__name__, play), SCENES)
        assert "\n".join(filter(None, found)) == ""
