"""One request to an API server: who we say we are, what its answers mean, and what it may not do to us. The server is a small one of ours, over TLS."""

import base64
import contextlib
import json
import os
import socket
import subprocess
import threading
import time

import pytest

from hostagent.core.errors import HostagentError
from hostagent.kube.client import PatchClient
from hostagent.kube.config import in_cluster, kubeconfig
from tests.apiserver import Api, config, make_keys, program

NODE = {"metadata": {"uid": "u-1", "labels": {"a": "b"}}}


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def folder(tmp_path, keys):
    (tmp_path / "ca.crt").write_bytes((keys / "server.crt").read_bytes())
    return tmp_path


def client_of(path, **more):
    return PatchClient(lambda: kubeconfig(str(path)), "hostagent/1.2", **more)


def patched(path):
    return client_of(path).patch_node_status("n 1/x", {"status": {}})


def credential(token, expires=""):
    status = {"token": token, **({"expirationTimestamp": expires} if expires else {})}
    return json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})


def test_one_patch_of_the_nodes_own_status(folder, keys):
    with Api(keys, (200, {}, NODE)) as api:
        reply = patched(config(folder, api, {"token": "hunter2"}))
    assert (reply.uid, reply.labels, reply.problem) == ("u-1", {"a": "b"}, "")
    ((path, headers, body, _),) = api.asked
    assert path == "/api/v1/nodes/n%201%2Fx/status?fieldManager=hostagent"
    assert headers["Authorization"] == "Bearer hunter2"
    assert headers["Content-Type"] == "application/strategic-merge-patch+json"
    assert headers["Accept"].startswith("application/json;as=PartialObjectMetadata")
    assert headers["User-Agent"] == "hostagent/1.2"
    assert body == {"status": {}}


def test_a_token_is_read_again_for_each_request(folder, keys):
    token = folder / "token"
    with Api(keys, (200, {}, NODE)) as api:
        client = client_of(path := config(folder, api, {"tokenFile": "token"}))
        for value in ("first", "second"):
            token.write_text(f"{value}\n")
            client.patch_node_status("n", {})
        config(folder, api, {"token": "third"})
        client.patch_node_status("n", {})
        path.write_text("{")
        assert "no kubeconfig" in client.patch_node_status("n", {}).problem or "cannot be used" in client.patch_node_status("n", {}).problem
    assert [headers["Authorization"] for _, headers, *_ in api.asked] == ["Bearer first", "Bearer second", "Bearer third"]


def test_a_client_certificate_from_files_or_from_the_text(folder, keys):
    files = {"client-certificate": str(keys / "client.crt"), "client-key": str(keys / "client.key")}
    data = {f"{name}-data": base64.b64encode((keys / place.rpartition("/")[2]).read_bytes()).decode() for name, place in files.items()}
    with Api(keys, (200, {}, NODE)) as api:
        ca = base64.b64encode((keys / "server.crt").read_bytes()).decode()
        for user, cluster in ((files, {}), (data, {"certificate-authority": "", "certificate-authority-data": ca})):
            assert patched(config(folder, api, user, **cluster)).problem == ""
    assert [name["commonName"] for *_, name in api.asked] == ["client", "client"]


def test_a_program_gives_the_token_until_that_expires_or_is_refused(folder, keys):
    def stamp(seconds):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))

    answers = [(200, {}, NODE), (200, {}, NODE), (401, {}, {}), (200, {}, NODE)]
    with Api(keys, *answers) as api:
        path = config(
            folder, api, program(folder, f"echo \"$WHO $KUBERNETES_EXEC_INFO\" >> {folder}/asked; echo '{credential('t1', stamp(3600))}'")
        )
        client = client_of(path)
        replies = [client.patch_node_status("n", {}) for _ in range(4)]
        assert (folder / "asked").read_text().count("us {") == 2, "once at first, once after 401"
        assert replies[2].problem == "the API server answers 401"
        config(folder, api, program(folder, f"echo x >> {folder}/again; echo '{credential('t2', stamp(5))}'"))
        client = client_of(path)
        for _ in range(3):
            client.patch_node_status("n", {})
        assert (folder / "again").read_text() == "x\n" * 3, "what is about to expire is no longer used"
    assert {headers["Authorization"] for _, headers, *_ in api.asked} == {"Bearer t1", "Bearer t2"}


@pytest.mark.parametrize(
    ("text", "said"),
    [("echo hunter2; exit 3", "it ended with 3"), ("echo hunter2", "no ExecCredential"), ("echo '{\"status\": []}'", "no ExecCredential")],
)
def test_a_program_that_gives_nothing_is_said_without_what_it_printed(folder, keys, text, said):
    with Api(keys, (200, {}, NODE)) as api:
        problem = patched(config(folder, api, program(folder, text))).problem
    assert said in problem
    assert "hunter2" not in problem
    assert api.asked == []


@pytest.mark.skipif(os.geteuid() != 0, reason="owners are root's to give: run 'sudo make test'")
@pytest.mark.parametrize("what", ["kubeconfig", "token", "credential", "ca.crt"])
def test_what_others_may_write_is_not_obeyed(folder, keys, what):
    (folder / "token").write_text("hunter2")
    user = program(folder, f"echo '{credential('t')}'") if what == "credential" else {"tokenFile": "token"}
    with Api(keys, (200, {}, NODE)) as api:
        path = config(folder, api, user)
        assert patched(path).problem == ""
        (folder / what).chmod(0o722)
        problem = patched(path).problem
        (folder / what).chmod(0o700)
        os.chown(folder / what, 1000, 1000)
        assert problem
        assert patched(path).problem
    assert len(api.asked) == 1


@pytest.mark.parametrize(
    ("answer", "said", "asked_s"),
    [
        ((403, {}, {"message": "nodes is forbidden"}), "the API server answers 403: nodes is forbidden", 0),
        ((429, {"Retry-After": "17"}, {"message": "busy"}), "the API server answers 429: busy", 17),
        ((503, {"Retry-After": "9999999"}, b"<html>"), "the API server answers 503: its answer is no object of Kubernetes", 3600),
        ((200, {}, b"[]"), "the API server answers 200: its answer is no object of Kubernetes", 0),
        ((200, {}, {"metadata": {}}), "the API server answers 200: its answer is no object of Kubernetes", 0),
        ((302, {"Location": "https://other.example/"}, {}), "the API server answers 302", 0),
        ((500, {}, {"message": "\x1b[2J" + "x" * 9000}), "the API server answers 500: ", 0),
        ((500, {}, b"[" * 100_000), "the API server answers 500: its answer is no object of Kubernetes", 0),
    ],
)
def test_what_is_no_success_is_one_short_sentence(folder, keys, answer, said, asked_s):
    with Api(keys, answer) as api:
        reply = patched(config(folder, api, {"token": "hunter2"}))
    assert reply.problem.startswith(said)
    assert len(reply.problem) < 300
    assert "\x1b" not in reply.problem
    assert (reply.retry_after_s, reply.uid, reply.is_absent) == (asked_s, "", False)
    assert len(api.asked) == 1, "no redirect is followed"


def test_a_node_that_is_not_there_is_told_apart(folder, keys):
    with Api(keys, (404, {}, {"message": 'nodes "n" not found'})) as api:
        assert patched(config(folder, api, {"token": "t"})).is_absent


def test_a_server_of_another_authority_gets_no_token(folder, keys):
    with Api(keys, (200, {}, NODE)) as api:
        path = config(folder, api, {"token": "hunter2"})
        (folder / "ca.crt").write_bytes((keys / "client.crt").read_bytes())
        problem = patched(path).problem
        (folder / "ca.crt").write_text("none")
        assert "cannot be used" in patched(path).problem
    assert "certificate verify failed: self-signed certificate" in problem
    assert api.asked == []


def test_another_name_than_the_certificates_is_refused_and_may_be_given(folder, keys):
    with Api(keys, (200, {}, NODE)) as api:
        api.url = api.url.replace("127.0.0.1", "localhost")
        assert "certificate is not valid for 'localhost'" in patched(config(folder, api, {"token": "t"})).problem
        assert patched(config(folder, api, {"token": "t"}, **{"tls-server-name": "127.0.0.1"})).problem == ""


@pytest.mark.parametrize("how", ["drip", "silence", "flood"])
def test_an_answer_that_does_not_end_is_left_in_time(folder, keys, how):
    """And while it is still on its way, nothing is begun beside it."""
    over = threading.Event()

    def give(stream):
        with contextlib.suppress(OSError):
            while not over.is_set():
                stream.write({"drip": b" ", "silence": b"", "flood": b" " * 1_000_000}[how])
                stream.flush()
                over.wait(0 if how == "flood" else 0.05)

    with Api(keys, (200, {}, give)) as api:
        client = client_of(config(folder, api, {"token": "t"}), timeout_s=0.6)
        first = client.patch_node_status("n", {}).problem
        second = client.patch_node_status("n", {}).problem
        over.set()
        ends = time.monotonic() + 10
        while (worker := client._transport._worker) and not worker.begin(bool):
            assert time.monotonic() < ends, "the thread of the first request goes on"
            time.sleep(0.01)
    assert "API server" in first
    assert "API server" in second


@pytest.mark.parametrize("how", ["body", "headers"])
def test_after_an_answer_that_does_not_end_the_next_request_is_made(folder, keys, how):
    """A byte now and then is no timeout for any library: without an end from outside the first request would keep the others away for hours."""
    over = threading.Event()

    def give(stream):
        with contextlib.suppress(OSError):
            while not over.is_set():
                stream.write(b" ")
                stream.flush()
                over.wait(0.05)

    headers = {"Content-Length": "1000000"} if how == "body" else None
    with Api(keys, (200, headers, give), (200, {}, NODE)) as api:
        client = client_of(config(folder, api, {"token": "t"}), timeout_s=0.8)
        assert "did not answer" in client.patch_node_status("n", {}).problem
        over.set()
        assert client.patch_node_status("n", {}).problem == ""


class Proxy:
    """Passes a connection on (CONNECT), and keeps to whom."""

    def __init__(self):
        self.asked, self.line = [], socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.line.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                near, head = self.line.accept()[0], b""
                while not head.endswith(b"\r\n\r\n"):
                    head += near.recv(1)
                self.asked.append(head.split()[1].decode())
                far = socket.create_connection(self.asked[-1].split(":"))
                near.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass_on(one, other):
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("how", ["kubeconfig", "environment"])
def test_a_proxy_sees_neither_token_nor_another_authority(folder, keys, monkeypatch, how):
    proxy = Proxy()
    with contextlib.closing(proxy.line), Api(keys, (200, {}, NODE)) as api:
        if how == "environment":
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        files = {"client-certificate": str(keys / "client.crt"), "client-key": str(keys / "client.key")}
        path = config(folder, api, files, **({"proxy-url": proxy.url} if how == "kubeconfig" else {}))
        assert patched(path).problem == ""
        (folder / "ca.crt").write_bytes((keys / "client.crt").read_bytes())
        assert "certificate verify failed" in patched(path).problem
    assert proxy.asked == [api.url.removeprefix("https://")] * 2
    assert [name["commonName"] for *_, name in api.asked] == ["client"]


def test_the_file_of_a_token_counts_more_than_a_token(folder, keys):
    (folder / "token").write_text("new")
    with Api(keys, (200, {}, NODE)) as api:
        patched(config(folder, api, {"token": "old", "tokenFile": "token"}))
    assert api.asked[0][1]["Authorization"] == "Bearer new"


def test_a_key_with_a_passphrase_asks_nobody(folder, keys):
    made = ["openssl", "rsa", "-aes256", "-passout", "pass:x", "-in", keys / "client.key", "-out", folder / "locked.key"]
    subprocess.run(made, check=True, capture_output=True)
    with Api(keys, (200, {}, NODE)) as api:
        user = {"client-certificate": str(keys / "client.crt"), "client-key": "locked.key"}
        (folder / "locked.key").chmod(0o600)
        assert "cannot be used" in patched(config(folder, api, user)).problem


def test_a_server_that_is_away_is_said(folder, keys):
    with Api(keys, (200, {}, NODE)) as api:
        path = config(folder, api, {"token": "hunter2"})
    problem = patched(path).problem
    assert problem == "the API server was not reached: connection refused"


def test_a_netrc_is_not_read(folder, keys, monkeypatch):
    (folder / "netrc").write_text("machine 127.0.0.1 login a password b\n")
    (folder / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(folder / "netrc"))
    with Api(keys, (200, {}, NODE)) as api:
        patched(config(folder, api, {"token": "ours"}))
    assert api.asked[0][1]["Authorization"] == "Bearer ours"


def test_a_pods_own_service_account(folder, keys):
    (folder / "token").write_text("pod")
    with Api(keys, (200, {}, NODE)) as api:
        environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": api.url.rpartition(":")[2]}
        access = in_cluster(environment, str(folder))
        reply = PatchClient(lambda: access, "hostagent/1").patch_node_status("n", {})
    assert reply.problem == ""
    assert api.asked[0][1]["Authorization"] == "Bearer pod"
    assert in_cluster({"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "1"}, str(folder)).server == "https://[::1]:1"
    assert in_cluster({}, str(folder)) is None
    assert in_cluster(environment, "/nowhere") is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one.pop("current-context"), "no kubeconfig"),
        (lambda one: one["clusters"].clear(), "no kubeconfig"),
        (lambda one: one["clusters"][0]["cluster"].update({"insecure-skip-tls-verify": True}), "insecure-skip-tls-verify"),
        (lambda one: one["clusters"][0]["cluster"].update({"server": "http://x"}), "wanted https"),
        (lambda one: one["users"][0]["user"].update({"exec": {"apiVersion": "v9", "command": "x"}}), "found exec of 'v9'"),
        (lambda one: one["users"][0]["user"].update({"client-certificate-data": "%%"}), "client-certificate-data: found no PEM"),
        (lambda one: one.update({"users": 7}), "no kubeconfig"),
        (lambda one: one["users"][0]["user"].update({"as": "system:admin"}), "a user with as, wanted"),
        (lambda one: one["users"][0]["user"].update({"auth-provider": {"name": "gcp"}}), "a user with auth-provider, wanted"),
        (lambda one: one["clusters"][0]["cluster"].update({"proxy-url": "socks5://x"}), "wanted http or https"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_said(folder, keys, change, said):
    with Api(keys, (200, {}, NODE)) as api:
        path = config(folder, api, {"token": "hunter2"})
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(HostagentError) as raised:
        kubeconfig(str(path))
    assert said in raised.value.message
    assert "hunter2" not in raised.value.message


@pytest.mark.parametrize("text", ["", "[]", "{", "\0", "a: &a [*a]", "- 7"])
def test_what_is_no_kubeconfig_at_all_is_said(tmp_path, text):
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(HostagentError, match="kubeconfig"):
        kubeconfig(str(path))
    with pytest.raises(HostagentError, match="cannot be used"):
        kubeconfig(str(tmp_path / "none"))
