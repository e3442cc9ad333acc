"""configz: a real HTTPS server answers, refuses, or hangs; the token is in no answer, and only what the profile names is asked."""

import contextlib
import json
import ssl
import subprocess
import sys
import time

import pytest

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.kubelet.config.effective import KubeletInputs, Machine, effective
from hostagent.domains.kubelet.read_configz import ask, parse_configz
from hostagent.domains.kubelet.read_differences import differences, read_differences
from hostagent.engine.pipeline import policy_of, prepare
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.host.policy import Policy
from hostagent.host.source import Source
from hostagent.profiles import profile
from hostagent.testing import TreeBackend
from tests.real.conftest import need_real

_SERVER = """
import http.server, json, ssl, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if sys.argv[2] == "hang":
            time.sleep(30)
        known = self.headers["Authorization"] == "Bearer hunter2" and self.path == "/configz"
        body = sys.argv[2].encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + "/crt", sys.argv[1] + "/key")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture
def folder(tmp_path):
    openssl = need_real("openssl", "apt-get install openssl")
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=node", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", tmp_path / "key", "-out", tmp_path / "crt"], check=True, capture_output=True,
    )  # fmt: skip
    (tmp_path / "token").write_text("hunter2\n")
    return tmp_path


@contextlib.contextmanager
def serving(folder, answer):
    with subprocess.Popen([sys.executable, "-c", _SERVER, folder, answer], stdout=subprocess.PIPE, text=True) as server:
        try:
            yield f"127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.kill()


def asked(folder, address, token="token", ca="crt"):
    return ask(Files(Root("/")), address, str(folder / ca), str(folder / token))


def test_a_kubelet_tells_what_it_runs_with(folder):
    with serving(folder, json.dumps({"kubeletconfig": {"maxPods": 9, "staticPodURL": "http://hunter3"}})) as address:
        assert asked(folder, address) == {"maxPods": 9}
        (folder / "other").write_text("hunter4")
        refused = asked(folder, address, token="other")
    assert (refused.why, "hunter" in refused.detail) == ("denied", False)


def test_a_kubelet_that_hangs_costs_its_deadline(folder):
    with serving(folder, "hang") as address:
        started = time.monotonic()
        assert asked(folder, address).why == "timeout"
        assert time.monotonic() - started < 2


def test_who_has_no_certificate_of_that_authority_gets_no_token(folder):
    other = folder / "ca.pem"
    other.write_text(ssl.DER_cert_to_PEM_cert(ssl.PEM_cert_to_DER_cert((folder / "crt").read_text())).replace("A", "B", 3))
    with serving(folder, "{}") as address:
        assert asked(folder, address, ca="ca.pem").why == "error"
        assert asked(folder, f"localhost:{address.rpartition(':')[2]}").why == "error"  # another name than the certificate's
        assert asked(folder, address).why == "error"  # no kubeletconfig


@pytest.mark.parametrize(("text", "why"), [(None, "error"), ("", "error"), ("two words", "error"), ("h\u00e4", "error")])
def test_a_token_that_is_none_is_not_sent(folder, text, why):
    if text is not None:
        (folder / "mine").write_text(text, encoding="utf-8")
    found = asked(folder, "127.0.0.1:1", token="mine")
    assert (found.why, "words wanted" in found.detail) == (why, False)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1", "127.0.0.1:x", ":", "[::1]:1"])
def test_nobody_there_is_an_error(folder, address):
    assert asked(folder, address).why == "error"


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"kubeletconfig": []}', b"[" * 100_000])
def test_what_is_no_configz_is_refused(data):
    with pytest.raises(ValueError, match=r"."):
        parse_configz(data)


def config(*flags):
    nowhere = Unread("not-recorded", "")
    return effective(KubeletInputs("1.35.4", flags, ()), Machine(*[nowhere] * len(Machine._fields))).config


def test_fields_that_differ_are_named():
    ours = config("--max-pods=9", "--kube-reserved=cpu=1")
    same = {"maxPods": 9, "kubeReserved": {"cpu": "1"}, "topologyManagerPolicy": "none"}
    assert "maxPods" not in differences(ours, same)
    assert {"kubeReserved", "topologyManagerPolicy"} <= set(
        differences(ours, {**same, "kubeReserved": {"cpu": "2"}, "topologyManagerPolicy": "restricted"})
    )
    assert "systemReserved" not in differences(ours, same)


def test_only_the_profile_lets_a_kubelet_be_asked():
    files = {"configz 127.0.0.1:10250 /ca /token": {"maxPods": 1}}
    assert read_differences(Source(TreeBackend(files)), config(), runs=True).why == "not-recorded"
    asking = Source(TreeBackend(files), policy=lambda: Policy(configz=("127.0.0.1:10250", "/ca", "/token")))
    assert "maxPods" in read_differences(asking, config(), runs=True)
    assert read_differences(asking, config(), runs=False).why == "not-running"
    assert read_differences(asking, Unread("error", "x"), runs=True).why == "error"
    with pytest.raises(UnreadError):
        bool(read_differences(asking, config(), runs=False))


def test_the_profiles_word_is_what_reading_gets():
    overlay = {"kubelet": {"configz": {"address": "127.0.0.1:10250", "ca": "/ca", "token_file": "/token"}}}
    loaded = profile.load("default", site_file="/nonexistent", overlay=overlay)
    assert policy_of(prepare(loaded)) == Policy(configz=("127.0.0.1:10250", "/ca", "/token"))
