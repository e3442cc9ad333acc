"""Who asks slowly, from many connections and several processes, takes a few threads and descriptors, and keeps nobody from an answer."""

import contextlib
import http.client
import itertools
import json
import os
import resource
import socket
import ssl
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.children import until
from tests.cpu import crowding
from tests.real.conftest import need_real
from tests.real.daemonrun import Daemon
from tests.real.test_daemon_loop import BROKEN, HEALTHY, recording, teller_of

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="trees of root alone are read: run 'sudo make test'")]

#: Processes that attack, and the connections that each of them has, by what it does with them.
_PROCESSES = 5
_EACH = {"slow": 220, "churn": 200, "whole": 200, "tls-silent": 200, "tls-half": 200, "tls-hello": 100, "tls-slow": 20}
#: Seconds of each scene; that a probe waits for its answer; that a transition may take to Kubernetes, which is not written to more often.
_SCENE_S, _PROBE_S, _WRITE_S = 4.0, 3.0, 45.0
#: Descriptors that the daemon may have, as systemd and containers give them; and connections that it serves at once.
_DESCRIPTORS, _MOST = 1024, 64
#: An ordinary user's: holds connections, and opens another one as soon as one is closed. "slow" does not care that it is closed as long as
#: it can send; "whole" and "tls-hello" make the server work, and begin anew with its first byte.
HOSTILE = """
import os, select, socket, ssl, sys, time
kind, port, count, parent = sys.argv[1], *map(int, sys.argv[2:])
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
out = ssl.MemoryBIO()
try:
    context.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
except ssl.SSLWantReadError:
    hello = out.read()
whole = b"GET /metrics HTTP/1.0\\r\\n\\r\\n"
says = {"tls-silent": b"", "tls-half": hello[: len(hello) // 2], "tls-hello": hello, "whole": whole}
says = says.get(kind, b"GET /livez HTTP/1.0\\r\\nA: " + b"a" * 999)
at_once, poll, lines = len(says) if kind in ("tls-half", "tls-hello", "whole") else 1, select.epoll(), {}
os.setgroups([])
os.setuid(65534)

def begin():
    line = socket.socket()
    line.setblocking(False)
    line.connect_ex(("127.0.0.1", port))
    lines[line.fileno()] = [line, 0]
    poll.register(line, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)

def go_on(number):
    line, said = lines[number]
    try:
        if kind == "tls-slow" and not said:
            if not isinstance(line, ssl.SSLSocket):
                line = lines[number][0] = context.wrap_socket(line, do_handshake_on_connect=False)
            line.do_handshake()
        if said < len(says):
            line.send(says[said : said + at_once])
            lines[number][1] += at_once
        if kind != "slow" and (not line.recv(4096) or kind in ("tls-hello", "whole")):
            end(number)
    except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        pass
    except (OSError, ValueError):
        end(number)

def end(number):
    poll.unregister(number)
    lines.pop(number)[0].close()
    begin()

for _ in range(count):
    begin()
print("ready", flush=True)
turn = time.monotonic()
while os.getppid() == parent:
    for number, events in poll.poll(0.05):
        if not lines[number][1] or events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR) and kind != "slow":
            go_on(number)
    if time.monotonic() - turn > 1.0:
        turn = time.monotonic()
        for number in list(lines):
            if lines[number][1]:
                (end if kind == "churn" else go_on)(number)
"""


class Api:
    """An API server that takes each patch of the node, and keeps when it came and what it says of the condition Ready."""

    def __init__(self, folder):
        self.asked, api = [], self

        class Handler(BaseHTTPRequestHandler):
            def do_PATCH(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                api.asked += [one["status"] for one in body["status"]["conditions"] if one["type"].endswith("/Ready")]
                data = json.dumps({"metadata": {"uid": "u-1", "labels": {}}}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.socket = server_context(folder).wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        url = f"https://127.0.0.1:{self.server.server_port}"
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(
            json.dumps(
                {
                    "clusters": [{"name": "c", "cluster": {"server": url, "certificate-authority": str(folder / "cert")}}],
                    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                    "users": [{"name": "u", "user": {"token": "t"}}],
                    "current-context": "x",
                }
            )
        )


def server_context(folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")
    return context


class Served:
    """A daemon with Kubernetes to write to, and what its process that serves uses, seen all the time."""

    def __init__(self, folder, *options):
        asked = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=n", "-addext", "subjectAltName=IP:127.0.0.1"]
        openssl = need_real("openssl", "apt-get install openssl")
        subprocess.run([openssl, "req", *asked, "-keyout", folder / "key", "-out", folder / "cert"], check=True, capture_output=True)
        self.folder, self.tape, self.is_tls = folder, recording(folder, HEALTHY), "--tls-cert" in options
        self.api = Api(folder)
        self.client = ssl.create_default_context(cafile=folder / "cert")
        named = [folder / one if one in ("cert", "key") else one for one in options]
        self.daemon = Daemon(folder, "--from", self.tape, "--kubeconfig", self.api.kubeconfig, "--node-name", "n", *named)
        resource.prlimit(self.daemon.process.pid, resource.RLIMIT_NOFILE, (_DESCRIPTORS, _DESCRIPTORS))

    def __enter__(self):
        assert until(lambda: self.livez() is not None and self.api.asked, 30), self.daemon.said()
        self.pid = teller_of(self.daemon)
        self.base = self.uses()
        return self

    def __exit__(self, *_):
        self.daemon.__exit__()

    def livez(self):
        """Seconds until the answer; None without one in time."""
        began = time.monotonic()
        made = http.client.HTTPSConnection if self.is_tls else http.client.HTTPConnection
        more = {"context": self.client} if self.is_tls else {}
        with (
            contextlib.suppress(OSError, http.client.HTTPException),
            contextlib.closing(made("127.0.0.1", self.daemon.port, timeout=_PROBE_S * crowding(), **more)) as line,
        ):
            line.request("GET", "/livez")
            if line.getresponse().read() == b"ok\n":
                return time.monotonic() - began
        return None

    def uses(self):
        """Threads, descriptors."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("Threads:")[2].split()[0]), len(os.listdir(f"/proc/{self.pid}/fd"))

    def worked_s(self):
        """Seconds of a processor."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


class Seen(NamedTuple):
    """The most threads and descriptors at once, how long each probe took, None without an answer, and the part of a processor."""

    threads: int
    descriptors: int
    probes: list
    processor: float


def attacked(served, kind, meanwhile=lambda: None):
    """What is seen while `meanwhile` is done, and in a scene at least."""
    argv = [sys.executable, "-c", HOSTILE, kind, *map(str, (served.daemon.port, _EACH[kind], os.getpid()))]
    hostile = [subprocess.Popen(argv, stdout=subprocess.PIPE) for _ in range(_PROCESSES)]
    try:
        for one in hostile:
            one.stdout.readline()
        began, worked_s, uses, probes = time.monotonic(), served.worked_s(), [], []
        other = threading.Thread(target=meanwhile)
        other.start()
        while time.monotonic() - began < _SCENE_S or other.is_alive():
            uses.append(served.uses())
            probes.append(served.livez())
            time.sleep(0.1)
        processor = (served.worked_s() - worked_s) / (time.monotonic() - began)
        return Seen(*map(max, zip(*uses, strict=True)), probes, processor)
    finally:
        for one in hostile:
            one.kill()
            one.communicate()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("plain")) as served:
        yield served


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("tls"), "--tls-cert", "cert", "--tls-key", "key") as served:
        yield served


def served_probes(probes):
    """Each; on a machine that is busy with others one alone may be lost. The kubelet starts a container again after three in a row."""
    return None not in probes or (crowding() > 1 and (None, None) not in itertools.pairwise(probes))


def judged(served, seen):
    """All that is wrong with what was seen, and after it."""
    threads, descriptors = served.base
    return {
        "threads": seen.threads if seen.threads > threads + 3 else "few",
        "descriptors": seen.descriptors if seen.descriptors > descriptors + _MOST + 4 else "few",
        "processor": seen.processor if seen.processor > 0.6 else "little",
        "probes": "answered" if served_probes(seen.probes) else seen.probes,
        "afterwards": "free" if until(lambda: served.uses()[1] <= descriptors + 2 and (served.livez() or 1) < 0.5) else served.uses(),
    }


WELL = {"threads": "few", "descriptors": "few", "processor": "little", "probes": "answered", "afterwards": "free"}


@pytest.mark.parametrize("kind", ["slow", "churn", "whole"])
def test_slow_and_churning_clients(plain, kind):
    assert judged(plain, attacked(plain, kind)) == WELL


@pytest.mark.parametrize("kind", ["tls-silent", "tls-half", "tls-hello", "tls-slow"])
def test_clients_that_stop_before_in_and_after_the_handshake(tls, kind):
    assert judged(tls, attacked(tls, kind)) == WELL


@contextlib.contextmanager
def limited(served, descriptors):
    """No more for the process that serves, which began with others."""
    limits = resource.prlimit(served.pid, resource.RLIMIT_NOFILE, (descriptors, _DESCRIPTORS))
    try:
        yield
    finally:
        resource.prlimit(served.pid, resource.RLIMIT_NOFILE, limits)


def test_a_transition_is_written_to_kubernetes_meanwhile(plain):
    count = len(plain.api.asked)

    def meanwhile():
        time.sleep(2.0)
        recording(plain.folder, BROKEN)
        until(lambda: "False" in plain.api.asked[count:], _WRITE_S)

    with limited(plain, 4 * _MOST):
        attacked(plain, "slow", meanwhile)
    assert "False" in plain.api.asked[count:]


def test_without_a_descriptor_for_another_connection_it_goes_on_and_does_not_spin(plain):
    with limited(plain, plain.base[1] + 4), contextlib.ExitStack() as held:
        for _ in range(20):
            held.enter_context(socket.create_connection(("127.0.0.1", plain.daemon.port)))
        worked_s = plain.worked_s()
        time.sleep(1.0)
        assert plain.worked_s() - worked_s < 0.3
    assert plain.livez() is not None
