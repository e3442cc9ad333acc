"""The ways in which hostagent is run, each tried: what it cannot see with which rights. docs/security.md says the same."""

import json
import os
import subprocess

import pytest

from tests.attack import pod, spaces
from tests.attack.everyone import Program

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and pods need root: run the tests as root")
HOST_ROOT = ("--host-root", "/host")
#: Of a pod with a network of its own: what the kernel says of the asker's network is not the host's.
APART = "network kinds"
#: Both questions about the kernel log.
LOGS = {"kernel_log", "kernel_words"}
#: How a pod is started, what it is told to judge, and the questions that then have no answer.
PODS = {
    "the host's / and no right": (pod.HOST, HOST_ROOT, {*LOGS, APART}),
    "the host's / and the right to read the kernel log": ((*pod.HOST, "--cap-add", "SYSLOG"), HOST_ROOT, {APART}),
    "the host's / and its processes": ((*pod.HOST, "--pid", "host"), HOST_ROOT, {*LOGS, APART}),
    "privileged, the host's / and its processes": (
        (*pod.HOST, "--pid", "host", "--privileged"),
        HOST_ROOT,
        set() if pod.enters() else {APART},
    ),
    "nothing of the host": ((), (), LOGS),
}


@pytest.mark.parametrize("way", PODS)
def test_a_pod_cannot_see(way, tmp_path):
    options, arguments, unread = PODS[way]
    assert pod.denied(pod.answers(options, tmp_path, *arguments)) == unread


def test_root_on_the_host_sees_all(tmp_path):
    subprocess.run([pod.HOSTAGENT, "snapshot", "save", str(tmp_path / "tape.json")], check=True, capture_output=True)
    assert pod.denied(json.loads((tmp_path / "tape.json").read_text())["answers"]) == set()


@pytest.mark.alone
def test_an_ordinary_user_cannot_see(tmp_path):
    spaces.unshare("mount")
    spaces.reachable(tmp_path)
    (tmp_path / "program").mkdir()
    (tmp_path / "own").mkdir()
    os.chown(tmp_path / "own", spaces.NOBODY, spaces.NOBODY)
    saved = Program(tmp_path / "program").run("snapshot", "save", str(tmp_path / "own/tape.json"))
    assert saved.returncode == 0, saved.stderr
    recorded = json.loads((tmp_path / "own/tape.json").read_text())["answers"]
    locks = {question for question in recorded if question.startswith("lock_holder ")}
    assert pod.denied(recorded) - locks <= {*LOGS, "stat /run/nri/nri.sock"}, (
        "what the kernel tells everybody depends on kernel.dmesg_restrict alone"
    )
