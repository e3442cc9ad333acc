"""The ways in which hostagent is run, each tried: what it cannot see with which rights. docs/security.md says the same."""

import os

import pytest

from tests.attack import pod, spaces

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and pods need root: run the tests as root")
HOST_ROOT = ("--host-root", "/host")
#: How a pod is started, what it is told to judge, and the questions that then have no answer.
PODS = {
    "the host's / and no right": ((*pod.HOST,), HOST_ROOT, {"kernel_log"}),
    "the host's / and its processes": ((*pod.HOST, "--pid", "host"), HOST_ROOT, {"kernel_log"}),
    "privileged, the host's / and its processes": ((*pod.HOST, "--pid", "host", "--privileged"), HOST_ROOT, set()),
    "nothing of the host": ((), (), {"kernel_log"}),
}


@pytest.mark.parametrize("way", PODS)
def test_a_pod_cannot_see(way, tmp_path):
    options, arguments, unread = PODS[way]
    assert pod.denied(pod.answers(options, tmp_path, *arguments)) == unread


def test_root_on_the_host_sees_all(tmp_path):
    recorded = spaces.recorded(("snapshot", "save", str(tmp_path / "tape.json")), tmp_path / "tape.json")
    assert pod.denied(recorded) == set()
