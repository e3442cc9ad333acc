"""A token or password that something is wrong with: it stands in no error, no line of the log, and on no page that everybody may read."""

import base64
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import quote

import pytest

from hostagent.core.errors import HostagentError
from hostagent.daemon.page import Page
from hostagent.daemon.settings import Settings
from hostagent.daemon.shared_state import SharedState
from hostagent.domains.kubelet.read_configz import ask
from hostagent.engine.target import Evidence
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.kube.client import PatchClient
from hostagent.kube.config import in_cluster, kubeconfig
from hostagent.outputs.log import Log
from tests.apiserver import Api, config, make_keys, program

SECRET = "Zq7hunter/2Xw9Kd"
#: Half of it is too much.
PIECES = (SECRET[:8], SECRET[-8:], quote(SECRET, safe="")[:12], base64.b64encode(f"bob:{SECRET}".encode()).decode()[:16])
LOGIN = f"bob:{quote(SECRET, safe='')}"
#: What nobody may use, out of a secret.
BROKEN: dict[str, Callable[[str], bytes]] = {
    "two lines": lambda secret: f"{secret}\n{secret}\n".encode(),
    "a zero byte": lambda secret: f"{secret}\0x".encode(),
    "another alphabet": lambda secret: f"{secret}é".encode(),
    "no text at all": lambda secret: secret.encode() + b"\xff\xfe",
    "two words": lambda secret: f"{secret} {secret}".encode(),
    "a control character": lambda secret: f"{secret}\x1b[2J{secret}".encode(),
    "a folded line": lambda secret: f"{secret}\r\n {secret}".encode(),
    "a file without end": lambda secret: secret.encode() * 100_000,
    "nothing": lambda _: b"",
}


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def folder(tmp_path, keys):
    (tmp_path / "ca.crt").write_bytes((keys / "server.crt").read_bytes())
    return tmp_path


def nowhere(texts, pieces=PIECES):
    for text in texts:
        assert not [one for one in pieces if one in text], text


def told(client: PatchClient) -> str:
    """Everything that anybody may see of one write that fails."""
    reply = client.patch_node_status("n", {"status": {}})
    lines: list[str] = []
    shared = SharedState(180.0)
    shared.delivered("kubernetes", reply.problem, time.time(), time.monotonic())
    Log("text", lines.append).problem(f"Kubernetes is not written to: {reply.problem}")
    Log("json", lines.append).problem(f"Kubernetes is not written to: {reply.problem}")
    page = Page(Settings(Evidence(), "", "n", "/s"), shared, publishes_to_kubernetes=True, is_loopback=False).answer(
        "/readyz", "verbose", ""
    )
    assert page.status == HTTPStatus.SERVICE_UNAVAILABLE
    assert reply.problem
    return "\n".join((reply.problem, *lines, page.text))


def written(path, **more):
    """Of a kubeconfig: what its reading says, and what a write with it."""
    found = told(PatchClient(lambda: kubeconfig(str(path)), "hostagent/1", **more))
    with contextlib.suppress(HostagentError):
        kubeconfig(str(path))
        return [found]
    with pytest.raises(HostagentError) as error:
        kubeconfig(str(path))
    return [found, str(error.value), *error.value.details]


class Nobody:
    """An address where nothing listens."""

    def __init__(self):
        with socket.create_server(("127.0.0.1", 0)) as line:
            self.url = f"https://127.0.0.1:{line.getsockname()[1]}"


# -- tokens


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("where", ["tokenFile", "token", "exec"])
def test_no_token_that_is_none_is_quoted(where, how, folder):
    data = BROKEN[how](SECRET)
    path = folder / "kubeconfig"
    if where == "tokenFile":
        (folder / "token").write_bytes(data)
        path = config(folder, Nobody(), {"tokenFile": "token"})
    elif where == "token":
        path = config(folder, Nobody(), {"token": data.decode("latin-1")})
    else:
        said = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": data.decode("latin-1")}}
        (folder / "said").write_text(json.dumps(said))
        path = config(folder, Nobody(), program(folder, f"cat {folder}/said"))
    nowhere(written(path))


PROGRAMS = {
    "no JSON": f"echo {SECRET}",
    "an error on standard error": f"echo {SECRET} >&2; exit 1",
    "a token that is a list": f"""echo '{{"status": {{"token": ["{SECRET}"]}}}}'""",
    "a time that is none": f"""echo '{{"status": {{"token": "x", "expirationTimestamp": "{SECRET}"}}}}'""",
    "a key that is none": f"""echo '{{"status": {{"clientCertificateData": "{SECRET}", "clientKeyData": "{SECRET}"}}}}'""",
    "a key that is a number": f"""echo '{{"status": {{"clientCertificateData": ["{SECRET}"], "clientKeyData": 1}}}}'""",
}


@pytest.mark.parametrize("how", PROGRAMS)
def test_nothing_that_a_program_prints_is_quoted(how, folder):
    nowhere(written(config(folder, Nobody(), program(folder, PROGRAMS[how]))))


USERS = {
    "a password": {"username": "bob", "password": SECRET},
    "a token that is a list": {"token": [SECRET]},
    "a key that is no base64": {"client-key-data": SECRET, "client-certificate-data": SECRET},
    "a key that is no PEM": {name: base64.b64encode(SECRET.encode()).decode() for name in ("client-key-data", "client-certificate-data")},
    "a key of another alphabet": {"client-key-data": base64.b64encode(f"{SECRET}é".encode()).decode()},
    "words of a program": {"exec": {"apiVersion": "v0", "command": "x", "args": [SECRET], "env": [{"name": "A", "value": SECRET}]}},
    "words that are none": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "x", "args": [[SECRET]]}},
    "a variable that is none": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "x", "env": [{"name": [SECRET]}]}},
}


@pytest.mark.parametrize("how", USERS)
def test_nothing_of_a_user_is_quoted(how, folder):
    nowhere(written(config(folder, Nobody(), USERS[how])))


def test_no_line_of_a_broken_kubeconfig_is_quoted(folder):
    path = folder / "kubeconfig"
    for text in (
        f"token: {SECRET}: {SECRET}",
        f"token: *{SECRET[:8]}",
        f"a: &{SECRET[:8]} [*{SECRET[:8]}]",
        f"{{token: {SECRET}",
        f"- {SECRET}",
    ):
        path.write_text(text)
        path.chmod(0o600)
        nowhere(written(path))


@pytest.mark.parametrize("how", [one for one in BROKEN if one != "a file without end"])
def test_the_token_for_a_kubelet_is_not_quoted(how, tmp_path, keys):
    (tmp_path / "token").write_bytes(BROKEN[how](SECRET))
    (tmp_path / "ca").write_bytes((keys / "server.crt").read_bytes())
    nowhere([ask(Files(Root(str(tmp_path))), Nobody().url.removeprefix("https://"), "/ca", "/token").detail])


def test_the_address_of_a_kubelet_and_what_it_answers_are_not_quoted(tmp_path, keys):
    (tmp_path / "token").write_text(SECRET)
    (tmp_path / "ca").write_bytes((keys / "server.crt").read_bytes())
    files = Files(Root(str(tmp_path)))
    for address in (f"{LOGIN}@127.0.0.1:1", f"127.0.0.1:{SECRET}", f"bob:{SECRET}@[::1", f"{LOGIN}@ho℀st:1"):
        nowhere([ask(files, address, "/ca", "/token").detail])


# -- addresses

SERVERS = {
    "a password": f"https://{LOGIN}@127.0.0.1:1",
    "a password without TLS": f"http://{LOGIN}@127.0.0.1:1",
    "a password and a bad port": f"https://{LOGIN}@127.0.0.1:port",
    "a port that is a secret": f"https://127.0.0.1:{SECRET}",
    "a host that is none": f"https://{LOGIN}@ho℀st",
    "a host that is half": f"https://{LOGIN}@[::1",
    "no host": f"https://{LOGIN}@",
    "a query": f"https://127.0.0.1:1/?token={SECRET}",
    "no scheme": f"{LOGIN}@127.0.0.1",
    "a blank": f"https://bob:{SECRET}@127.0.0.1 :1",
    "a line": f"https://bob:{SECRET}@127.0.0.1\n:1",
}


@pytest.mark.parametrize("how", SERVERS)
def test_no_address_of_a_server_is_quoted(how, folder):
    nowhere(written(config(folder, Nobody(), {"token": "t"}, server=SERVERS[how])))


def test_no_address_of_the_environment_is_quoted(tmp_path):
    (tmp_path / "token").write_text("t")
    for host, port in ((f"{LOGIN}@h", "1"), ("h", SECRET), (f"bob:{SECRET}@h/x", "1"), (f"{LOGIN}@ho℀st", "1")):
        with pytest.raises(HostagentError) as error:
            in_cluster({"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}, str(tmp_path))
        nowhere([str(error.value)])


class Proxy:
    """Answers what it is told to, whatever it is asked."""

    def __init__(self, answer: bytes):
        self.line = socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self.line.getsockname()[1]}"
        self._answer = answer
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                with self.line.accept()[0] as one:
                    one.recv(65536)
                    one.sendall(self._answer)


class Asked(NamedTuple):
    """`place`: behind the @; "" for a proxy that answers."""

    place: str
    answer: bytes = b""
    scheme: str = "http"


PROXIES = {
    "nobody listens": Asked("127.0.0.1:1"),
    "no such name": Asked("nobody.invalid:3128"),
    "a bad port": Asked("127.0.0.1:port"),
    "a port beyond": Asked("127.0.0.1:99999"),
    "no host": Asked(":3128"),
    "a host that is none": Asked("ho℀st:3128"),
    "half a host": Asked("[::1:3128"),
    "a blank": Asked("a b:3128"),
    "another scheme": Asked("127.0.0.1:1", scheme="socks5"),
    "no scheme that there is": Asked("127.0.0.1:1", scheme="xyz"),
    "TLS to nobody": Asked("127.0.0.1:1", scheme="https"),
    "407": Asked("", b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"),
    "407 with the password": Asked("", f"HTTP/1.1 407 not {SECRET}\r\n\r\n".encode()),
    "407 with what was sent": Asked("", b"HTTP/1.1 407 not " + base64.b64encode(f"bob:{SECRET}".encode()) + b"\r\n\r\n"),
    "no HTTP": Asked("", f"{SECRET}\r\n\r\n".encode()),
    "nothing": Asked("", b""),
}


@pytest.mark.parametrize("how", PROXIES)
@pytest.mark.parametrize("where", ["kubeconfig", "environment"])
@pytest.mark.parametrize("is_encoded", [True, False], ids=["encoded", "as it is"])
def test_no_password_of_a_proxy_is_quoted(is_encoded, where, how, folder, monkeypatch):
    asked = PROXIES[how]
    proxy = Proxy(asked.answer)
    with contextlib.closing(proxy.line):
        url = f"{asked.scheme}://{LOGIN if is_encoded else f'bob:{SECRET}'}@{asked.place or proxy.place}"
        if where == "environment":
            monkeypatch.setenv("HTTPS_PROXY", url)
        more = {"proxy-url": url} if where == "kubeconfig" else {}
        nowhere(written(config(folder, Nobody(), {"token": "t"}, **more)))


# -- answers

ECHOES = {
    "as it is": SECRET,
    "behind its name": f"invalid bearer token, [{SECRET}]",
    "at the end of what is shown": f"{'x' * 190}{SECRET}",
    "percent-encoded": quote(SECRET, safe=""),
    "in base64": base64.b64encode(SECRET.encode()).decode(),
    "in an address": f"see https://bob:{SECRET.replace('/', '')}@host/",
    "in quotes of JSON": json.dumps({"authorization": f"Bearer {SECRET}"}),
}


@pytest.mark.parametrize("how", ECHOES)
def test_no_answer_that_repeats_the_token_is_quoted(how, folder, keys):
    pieces = (*PIECES, base64.b64encode(SECRET.encode()).decode()[:12], SECRET.replace("/", "")[:9])
    answers = [(code, {}, {"message": ECHOES[how]}) for code in (401, 403, 422, 500)]
    with Api(keys, *answers) as api:
        path = config(folder, api, {"token": SECRET})
        client = PatchClient(lambda: kubeconfig(str(path)), "hostagent/1")
        for code, *_ in answers:
            text = told(client)
            assert f"the API server answers {code}" in text
            nowhere([text], pieces)


def test_a_server_of_another_authority_is_told_no_secret(folder, keys):
    (folder / "ca.crt").write_bytes((keys / "client.crt").read_bytes())
    with Api(keys, (200, {}, {})) as api:
        (text,) = written(config(folder, api, {"token": SECRET}))
    assert "certificate" in text
    nowhere([text])


# -- the whole daemon


@pytest.mark.parametrize("how", ["a token of two lines", "a proxy of the environment", "a proxy that is none", "a server with a password"])
def test_the_daemon_says_nothing_of_it_on_standard_error(how, folder):
    (folder / "token").write_text(f"{SECRET}\n{SECRET}\n" if how == "a token of two lines" else SECRET)
    more = {"server": SERVERS["a password"]} if how == "a server with a password" else {}
    path = config(folder, Nobody(), {"tokenFile": "token"}, **more)
    environment = {**os.environ, "HTTPS_PROXY": ""}
    if "proxy" in how:
        environment["HTTPS_PROXY"] = f"http://{LOGIN}@127.0.0.1:{'port' if how == 'a proxy that is none' else 1}"
    options = ("--once", "--kubernetes", "on", "--kubeconfig", str(path), "--node-name", "n", "--state-dir", str(folder / "state"))
    words = (sys.executable, "-m", "hostagent", "daemon", *options)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 2 or "Kubernetes is not written to" in done.stderr
    nowhere([done.stdout, done.stderr])
    assert "Traceback" not in done.stderr
