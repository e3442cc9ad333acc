"""``hostagent gate`` against servers that are none of Kubernetes, or say no: exit 2 with a sentence, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.apiserver import Api as Server
from tests.apiserver import config, make_keys

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
VERSION = {"gitVersion": "v1.35.4"}
FORBIDDEN = {"kind": "Status", "reason": "Forbidden", "message": "nodes is forbidden"}
EMPTY = {"kind": "NodeList", "metadata": {"resourceVersion": "7"}, "items": []}

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="files of root alone are obeyed: run 'sudo make test'")]


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def asked(tmp_path, keys):
    """Exit code and both streams of the gate, over a server that gives these answers."""
    (tmp_path / "ca.crt").write_bytes((keys / "server.crt").read_bytes())

    def ask(*answers, nodes=1):
        with Server(keys, *answers) as server:
            path = config(tmp_path, server, {"token": "hunter2-token"})
            words = ["--backend", "kubernetes", "--kubeconfig", path, "--nodes", nodes, "--gpus-per-node", 8]
            done = subprocess.run(
                [HOSTAGENT, "gate", *map(str, words)], capture_output=True, text=True, check=False, timeout=60, env={**os.environ}
            )
        assert "Traceback" not in done.stderr, done.stderr
        assert "hunter2" not in done.stdout + done.stderr
        return done.returncode, done.stdout, done.stderr

    return ask


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([(200, {}, b"<html>log in</html>")], "no object of Kubernetes"),
        ([(502, {}, b"<html>bad gateway</html>")], "502"),
        ([(302, {"Location": "https://example.com"}, b"")], "302"),
        ([(401, {}, {"kind": "Status", "message": "Unauthorized"})], "401"),
        ([(200, {}, {"gitVersion": "\x1b[31m"})], "version"),
        ([(200, {}, VERSION), (403, {}, FORBIDDEN)], 'resources: ["nodes"], verbs: ["list"]'),
        ([(200, {}, VERSION), (200, {}, b"<html>")], "no object of Kubernetes"),
        ([(200, {}, VERSION), (200, {}, {"kind": "Table", "rows": []})], "no list"),
        ([(200, {}, VERSION), (200, {}, {**EMPTY, "items": [7]})], "no list"),
        ([(200, {}, VERSION), (200, {}, {**EMPTY, "items": [{}]})], "without a name"),
        ([(200, {}, VERSION), (200, {}, EMPTY), (200, {}, EMPTY)], "no table"),
    ],
    ids=[
        "html",
        "bad-gateway",
        "redirect",
        "unauthorized",
        "no-version",
        "no-right",
        "html-later",
        "table",
        "number",
        "no-name",
        "no-count",
    ],
)
def test_a_server_that_gives_no_nodes_is_exit_2(asked, answers, said):
    code, out, err = asked(*answers)
    assert (code, out) == (2, "")
    assert said in err


def test_an_older_cluster_is_exit_2_for_several_nodes(asked):
    code, _, err = asked((200, {}, {"gitVersion": "v1.27.9-gke.100"}), nodes=2)
    assert (code, "v1.27.9-gke.100" in err, "1.28" in err) == (2, True, True)


def test_a_cluster_without_nodes_is_a_refusal(asked):
    count = {"kind": "Table", "metadata": {}, "rows": []}
    code, out, _ = asked((200, {}, VERSION), (200, {}, EMPTY), (200, {}, EMPTY), (200, {}, EMPTY), (200, {}, count))
    assert (code, out.startswith("NOT PLACEABLE")) == (1, True)
