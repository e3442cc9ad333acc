"""Whether the daemon is ready, by what its board has; and what becomes of one connection."""

import contextlib
import os
import select
import socket
import ssl
import subprocess
import threading
import time
from http import HTTPStatus

import pytest

from hostagent.daemon import page as pages
from hostagent.daemon.message import Message, packed
from hostagent.daemon.page import Page
from hostagent.daemon.settings import Settings
from hostagent.daemon.shared_state import SharedState
from hostagent.engine.report.node_status import NodeWords, compact
from hostagent.engine.target import Evidence
from hostagent.http import server as http
from hostagent.http.answer import Answer
from hostagent.http.asker import Askers
from hostagent.http.connection import Connection
from tests.real.conftest import need_real

WORDS = NodeWords((), (), {}, {})
HOUR_S = 3600.0
#: Of the settings below: two intervals and a deadline.
LIMIT_S = 150.0


def message_of(judged_by):
    return Message("n", WORDS, {"node": "é"}, packed("{}"), "", 1.0, judged_by, 0.1, "start", {}, {})


@pytest.fixture
def shared():
    made = SharedState(LIMIT_S)
    made.publish(message_of(time.monotonic()), time.monotonic())
    return made


def page(shared, *, publishes_to_kubernetes=True, **settings):
    return Page(Settings(Evidence(), "", "n", "/s", **settings), shared, publishes_to_kubernetes=publishes_to_kubernetes, is_loopback=True)


def readyz(shared, query="", **more):
    return page(shared, **more).answer("/readyz", query, "")


def test_it_is_ready_once_a_pass_ended_and_a_write_came_through(shared):
    assert readyz(SharedState(LIMIT_S)).status == HTTPStatus.SERVICE_UNAVAILABLE
    assert readyz(shared, publishes_to_kubernetes=False) == (HTTPStatus.OK, "ok\n", "text/plain; charset=utf-8")
    assert "nothing was written yet" in readyz(shared).text
    shared.delivered("kubernetes", "the API server answers 403", time.time(), time.monotonic())
    assert "[-]kubernetes the API server answers 403" in readyz(shared).text
    shared.delivered("kubernetes", "", time.time(), time.monotonic())
    assert readyz(shared).text == "ok\n"
    for query in ("verbose", "verbose=1", "verbose=true&x"):
        assert "[+]kubernetes ok" in readyz(shared, query).text


@pytest.mark.parametrize("set_by_s", [-24 * HOUR_S, 24 * HOUR_S])
def test_a_clock_that_is_set_makes_no_write_older_or_newer(shared, set_by_s):
    shared.delivered("kubernetes", "", time.time() + set_by_s, time.monotonic())
    assert readyz(shared).status == HTTPStatus.OK
    shared.delivered("kubernetes", "", time.time() + set_by_s, time.monotonic() - HOUR_S)
    assert "the last write was 3600 s ago" in readyz(shared).text


def test_old_passes_a_turn_that_is_another_daemons_and_a_silent_loop(shared):
    shared.publish(message_of(time.monotonic() - HOUR_S), time.monotonic() - HOUR_S)
    assert "[-]pass the last pass ended 3600 s ago" in readyz(shared, publishes_to_kubernetes=False).text
    assert page(shared).answer("/livez", "", "").status == HTTPStatus.SERVICE_UNAVAILABLE
    shared.wait("another daemon keeps /s", time.monotonic())
    assert "[-]turn another daemon keeps /s" in readyz(shared).text
    assert page(shared).answer("/livez", "", "").text == "ok\n"


def test_a_loop_that_is_heard_and_judges_nothing_does_not_live(shared):
    shared.publish(message_of(time.monotonic() - LIMIT_S - 20), time.monotonic())
    assert page(shared).answer("/livez", "", "").text == "ok\n", "what is unknown is published first"
    shared.publish(message_of(time.monotonic() - LIMIT_S - 31), time.monotonic())
    answer = page(shared).answer("/livez", "", "")
    assert (answer.status, answer.text) == (HTTPStatus.SERVICE_UNAVAILABLE, "the last pass was judged 181 s ago\n")


@pytest.mark.parametrize("problem", ["the API server answers 422: denied", "the API server was not reached"])
def test_a_write_that_fails_is_no_plus(shared, problem):
    shared.delivered("kubernetes", "", time.time(), time.monotonic())
    shared.delivered("kubernetes", problem, time.time(), time.monotonic())
    assert readyz(shared).status == HTTPStatus.SERVICE_UNAVAILABLE
    assert f"[-]kubernetes {problem}" in readyz(shared).text


def test_the_summary_is_the_one_of_the_files(shared):
    assert page(shared).answer("/v1/summary", "", "").text == f"{compact({'node': 'é'})}\n"


class Long:
    """A page of many bytes."""

    def answer(self, *_):
        return Answer(HTTPStatus.OK, "")

    def encoded(self, _):
        return b"a" * 4_000_000


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(5)
        yield ours, theirs


@pytest.fixture(scope="module")
def server_tls(tmp_path_factory):
    folder, openssl = tmp_path_factory.mktemp("keys"), need_real("openssl", "apt-get install openssl")
    asked = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=n"]
    subprocess.run([openssl, "req", *asked, "-keyout", folder / "key", "-out", folder / "cert"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")
    return context


def one(line, tells=None, tls=None):
    return Connection(line, tls, tells or Long(), 0.0)


@pytest.mark.parametrize(
    ("asked", "begins", "ends"),
    [
        (b"GET /livez HTTP/1.1\r\nHost: n\r\n\r\n", b"HTTP/1.0 200 OK\r\n", b"\r\n\r\nok\n"),
        (b"GET /livez HTTP/1.0\n\n", b"HTTP/1.0 200 OK\r\n", b"\r\n\r\nok\n"),
        (b"HEAD /livez HTTP/1.1\r\n\r\n", b"HTTP/1.0 200 OK\r\n", b"Content-Length: 3\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\r\n"),
        (b"POST /livez HTTP/1.1\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.0 405 Method Not Allowed\r\n", b"Allow: GET, HEAD\r\n\r\nMethod Not Allowed\n"),
        (b"GET /livez HTTP/1.0\r\n" + b"A: b\r\n" * 101 + b"\r\n", b"HTTP/1.0 431 ", b"\n"),
        (b"\r\nGET /livez HTTP/1.1\r\n\r\n", b"HTTP/1.0 200 OK\r\n", b"\r\n\r\nok\n"),
        (b"GET http://[x/ HTTP/1.1\r\n\r\n", b"HTTP/1.0 400 Bad Request\r\n", b"\r\n\r\nBad Request\n"),
    ],
    ids=["get", "newlines", "head", "post", "many headers", "empty line", "no address"],
)  # fmt: skip
def test_one_request_in_pieces_has_one_answer(shared, pair, asked, begins, ends):
    shared.tick(time.monotonic())
    connection = one(pair[0], page(shared))
    for byte in asked[:-1]:
        pair[1].send(bytes([byte]))
        assert connection.go_on(0.0) == select.EPOLLIN
    pair[1].send(asked[-1:])
    assert connection.go_on(0.0) == select.EPOLLIN, "the end of the other side"
    answer = b"".join(iter(lambda: pair[1].recv(65536), b""))
    pair[1].close()
    assert connection.go_on(0.0) == 0
    assert (answer.startswith(begins), answer.endswith(ends)) == (True, True)


def test_an_answer_comes_though_more_is_sent_than_is_read(shared, pair):
    """A socket that is closed with something unread resets its connection, and the answer is lost."""
    connection = one(pair[0], page(shared))
    pair[1].sendall(b"POST /livez HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + b"a" * 100_000)
    assert connection.go_on(0.0) == select.EPOLLIN
    pair[1].sendall(b"a" * 50_000)
    pair[1].shutdown(socket.SHUT_WR)
    assert connection.go_on(0.0) == 0
    pair[0].close()
    assert b"".join(iter(lambda: pair[1].recv(65536), b"")).startswith(b"HTTP/1.0 405 ")


def test_a_request_that_is_too_long_is_told_so(shared, pair):
    connection = one(pair[0], page(shared))
    pair[1].sendall(b"GET / HTTP/1.0\r\nA: " + b"a" * 20_000)
    assert connection.go_on(0.0) == select.EPOLLIN
    assert pair[1].recv(13) == b"HTTP/1.0 431 "


@pytest.mark.parametrize("asked", [b"GET / HTTP/1.0\r\nA: b", b"\r\n\r\n"], ids=["half", "none"])
def test_what_is_no_whole_request_is_not_answered(pair, asked):
    connection = one(pair[0])
    pair[1].sendall(asked)
    pair[1].shutdown(socket.SHUT_WR)
    assert connection.go_on(0.0) == 0
    pair[0].close()
    with contextlib.suppress(ConnectionResetError):
        assert pair[1].recv(1) == b""


def test_a_connection_is_late_when_nothing_comes_and_when_its_time_is_over(pair):
    connection = one(pair[0])
    assert [connection.is_late(now) for now in (4.9, 5.1)] == [False, True]
    for now in range(0, 16, 2):
        pair[1].send(b"a")
        connection.go_on(float(now))
    assert [connection.is_late(now) for now in (14.9, 15.1)] == [False, True]


@pytest.mark.parametrize("is_tls", [False, True])
def test_who_reads_an_answer_slowly_is_late_too(pair, server_tls, is_tls):
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    came, goes = ssl.MemoryBIO(), ssl.MemoryBIO()
    connection = one(pair[0], tls=server_tls if is_tls else None)
    asked = b"GET / HTTP/1.0\r\n\r\n"
    if is_tls:
        line = client.wrap_bio(came, goes)
        with contextlib.suppress(ssl.SSLWantReadError):
            line.do_handshake()
        pair[1].send(goes.read())
        assert connection.go_on(0.0) == select.EPOLLIN
        came.write(pair[1].recv(65536))
        line.do_handshake()
        line.write(asked)
        asked = goes.read()
    pair[1].send(asked)
    for now in range(0, 16, 2):
        assert connection.go_on(float(now)) == select.EPOLLOUT
        assert not connection.is_late(float(now))
        pair[1].recv(200_000)
    assert connection.is_late(15.1)


def test_what_is_no_handshake_is_told_so(pair, server_tls):
    connection = one(pair[0], tls=server_tls)
    pair[1].send(b"\x16\x03\x01\x00\x05\x05\x00\x00\x01\x00")
    assert connection.go_on(0.0) == select.EPOLLIN
    assert pair[1].recv(7)[:1] == b"\x15", "an alert"


def test_a_token_that_cannot_be_read_to_its_end_holds_up_other_pages_once(shared, tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "_READ_S", 0.1)
    asked = page(shared, auth_token_file=str(tmp_path / "token"))
    is_over, reads = threading.Event(), []
    monkeypatch.setattr(asked, "token", lambda: (reads.append(1), is_over.wait(), (b"t", ""))[2])
    for _ in range(20):
        assert asked.answer("/v1/report", "", "Bearer t").text == "the file of --auth-token-file is still being read\n"
    assert len(reads) == 1
    is_over.set()
    asked._reads.join()
    assert asked.answer("/v1/report", "", "Bearer t").status == HTTPStatus.OK


@pytest.fixture
def server(shared, monkeypatch):
    """Serves at most 4 connections, and asks of each who it is."""
    monkeypatch.setattr(http, "_MOST", 4)
    monkeypatch.setattr(http, "_FEW", 0)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = http._Server(listening, page(shared), lambda: None)
        made.place = listening.getsockname()
        yield made
        made._poll.close()


def test_a_connection_that_is_over_leaves_no_descriptor(server):
    with contextlib.ExitStack() as held:
        server._turn([], 0.0)
        lines = [held.enter_context(socket.create_connection(server.place)) for _ in range(6)]
        server._turn([server._line.fileno()], 0.0)
        assert len(server._open) == 4
        lines[5].settimeout(5)
        assert lines[5].recv(1) == b"", "the fifth of one user goes at once until the first had its time"
        before = len(os.listdir("/proc/self/fd")) + 1
        held.enter_context(socket.create_connection(server.place))
        server._turn([server._line.fileno()], 1.0)
        assert len(os.listdir("/proc/self/fd")) == before
        lines[0].settimeout(5)
        assert lines[0].recv(1) == b"", "the oldest made room"
        server._turn([], 100.0)
        assert len(os.listdir("/proc/self/fd")) == before - 4


def test_whoever_has_most_connections_makes_room(server, monkeypatch):
    users = iter("aaabaab")
    monkeypatch.setattr(server._askers, "of", lambda *_: next(users))
    with contextlib.ExitStack() as held:
        for now in range(7):
            held.enter_context(socket.create_connection(server.place))
            server._turn([server._line.fileno()], float(now) / 2)
        assert [one.asker for one in server._open.values()] == ["b", "a", "a", "b"]
        ready = [(number, one) for number, one in server._open.items() if one.asker == "a"]
        assert [server._open[number].asker for number in http._in_turns((*ready, *server._open.items()))][:2] == ["a", "b"]


@pytest.mark.parametrize("there", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_an_asker_of_this_machine_is_its_user(there):
    """By the kernel: another process of another user, whose socket this is not."""
    family = socket.AF_INET6 if ":" in there else socket.AF_INET
    with socket.create_server(("::" if ":" in there else there, 0), family=family, dualstack_ipv6=":" in there) as listening:
        code = "import os, socket, sys; os.setuid(65534); s = socket.create_connection(sys.argv[1:]); os.read(0, 1)"
        place = (there.removeprefix("::ffff:"), str(listening.getsockname()[1]))
        listening.settimeout(20)
        with subprocess.Popen(["/usr/bin/python3", "-c", code, *place], stdin=subprocess.PIPE) as other:
            line, address = listening.accept()
            with line:
                assert Askers().of(line, address) == "user 65534"
            other.stdin.close()


def test_an_asker_of_another_machine_is_its_address():
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        assert Askers().of(line, ("192.0.2.7", 1)) == Askers().of(line, ("192.0.2.7", 2))
        assert Askers().of(line, ("2001:db8::1", 1, 0, 0)) == Askers().of(line, ("2001:db8::2", 1, 0, 0))
        assert Askers().of(line, ("192.0.2.7", 1)) != Askers().of(line, ("192.0.2.8", 1))
