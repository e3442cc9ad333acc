"""Reading and changing objects over TLS: connections, time, identity, pages, watches, and answers that are none of Kubernetes."""

import contextlib
import copy
import gzip
import itertools
import json
import os
import subprocess
import threading
import time
from urllib.parse import parse_qs

import pytest

from hostagent.kube.api import Api, ApiError, Event, Listing
from hostagent.kube.config import kubeconfig
from hostagent.kube.transport import Request, Transport, UnreachedError
from tests.apiserver import Api as Server
from tests.apiserver import config, make_keys, program

NODE = {"kind": "Node", "metadata": {"name": "n", "uid": "u-1"}}
LIST = {"kind": "NodeList", "metadata": {"resourceVersion": "7"}, "items": [NODE]}
CHUNKED = {"Transfer-Encoding": "chunked"}


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def folder(tmp_path, keys):
    (tmp_path / "ca.crt").write_bytes((keys / "server.crt").read_bytes())
    return tmp_path


@pytest.fixture
def api_to(folder):
    """An `Api` to a server, closed after the test."""
    with contextlib.ExitStack() as closing:

        def made(server, user=None, **more):
            path = config(folder, server, user or {"token": "hunter2-token"})
            return closing.enter_context(contextlib.closing(Api(lambda: kubeconfig(str(path)), "hostagent/1.2", **more)))

        yield made


def code_of(call):
    with pytest.raises(ApiError) as raised:
        call()
    return raised.value.code


def chunks(*pieces, end=b"0\r\n\r\n", wait=None):
    """Writes each as a chunk of its own; then waits."""

    def write(stream):
        with contextlib.suppress(OSError):
            for piece in pieces:
                stream.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                stream.flush()
                time.sleep(0.01)
            if wait:
                wait.wait(10)
            stream.write(end)

    return write


def event(kind, **item):
    return json.dumps({"type": kind, "object": item}, ensure_ascii=False).encode() + b"\n"


def descriptors(at_most):
    """How many are open, when that has become so few, or after 3 s."""
    ends = time.monotonic() + 3
    while len(os.listdir("/proc/self/fd")) > at_most and time.monotonic() < ends:
        time.sleep(0.02)
    return len(os.listdir("/proc/self/fd"))


def test_a_connection_is_kept_and_replaced_once_the_server_has_closed_it(keys, api_to):
    with Server(keys, (200, {}, NODE), keeps=True) as server:
        api = api_to(server)
        assert [api.get("/a"), api.get("/b")] == [NODE, NODE]
        assert server.lines[0] is server.lines[1]
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            server.drop()
            assert api.get("/c") == NODE
        assert descriptors(before) <= before
        server.answers[:] = [(None, {}, {}), (201, {}, NODE)]
        api.create("/d", {"a": 1})
        assert server.methods[-2:] == ["POST", "POST"], "closed just when the request came: sent once more"
        server.answers[:] = [(None, {}, {})]
        assert code_of(lambda: api.get("/e")) == 0
        server.answers[:] = [(200, {}, NODE)]
        assert api.get("/f") == NODE


@pytest.mark.parametrize("kept", [False, True])
def test_what_may_not_be_sent_any_more_is_not_sent(folder, keys, kept):
    """Asked last, after all that may take long: here the kubeconfig is read for as long as the right lasts."""
    may = [True]
    with Server(keys, (200, {}, NODE), keeps=True) as server:
        path = config(folder, server, {"token": "hunter2-token"})

        def slow():
            may[0] = kept and not server.asked
            return kubeconfig(str(path))

        with contextlib.closing(Api(slow, "hostagent/1")) as api:
            if kept:
                api.get("/first")
            for call in (api.create, lambda *given, **more: api.patch(*given, "merge", **more)):
                may[0] = True
                with pytest.raises(ApiError, match="not sent") as raised:
                    call("/late", {"a": 1}, may_send=lambda: may[0])
                assert raised.value.code == 0
            assert [path for path, *_ in server.asked] == ["/first"] * kept
            assert api.get("/next") == NODE


def test_a_request_of_which_only_the_head_may_be_sent_is_none(keys, api_to):
    """A process that was stopped between head and body."""
    with Server(keys, (200, {}, NODE), keeps=True) as server:
        api, may = api_to(server), iter([True, False])
        with pytest.raises(ApiError, match="not sent"):
            api.patch("/late", {"a": 1}, "merge", may_send=lambda: next(may))
        assert next(may, None) is None, "asked before each of the two"
        assert api.get("/next") == NODE
        assert [path for path, *_ in server.asked] == ["/next"]


@pytest.mark.parametrize("call", ["get", "watch"])
@pytest.mark.parametrize("how", ["hangs", "drips in its head", "drips in its body"])
def test_an_answer_that_does_not_end_is_over_in_time_and_the_next_request_works(keys, api_to, how, call):
    over = threading.Event()

    def give(stream):
        with contextlib.suppress(OSError):
            while not over.wait(0.05):
                stream.write(b"" if how == "hangs" else b" ")
                stream.flush()

    body = (403, {"Content-Length": "1000000"}, give) if "body" in how else (200, None, give)
    with Server(keys, (200, {}, NODE), body, (200, {}, NODE), keeps=True) as server:
        api = api_to(server, timeout_s=0.8)
        api.get("/first")
        began = time.monotonic()
        assert code_of(lambda: api.get("/") if call == "get" else api.watch("/", "1")) == 0
        assert time.monotonic() - began < 2
        assert api.get("/") == NODE
        over.set()


def test_a_new_token_and_a_new_certificate_count_from_the_next_request_on(folder, keys, api_to):
    ours = {"subj": "/CN=second", "CA": keys / "client.crt", "CAkey": keys / "client.key", "keyout": folder / "key", "out": folder / "crt"}
    named = [word for name, value in ours.items() for word in (f"-{name}", value)]
    for source in ("crt", "key"):
        (folder / source).write_bytes((keys / f"client.{source}").read_bytes())
        (folder / source).chmod(0o600)
    with Server(keys, (200, {}, NODE), keeps=True) as server:
        api = api_to(server, {"tokenFile": "token", "client-certificate": "crt", "client-key": "key"})
        for token in ("first", "second"):
            (folder / "token").write_text(token)
            api.get("/")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *named], check=True, capture_output=True)
        api.get("/")
    assert [headers["Authorization"] for _, headers, *_ in server.asked] == ["Bearer first", "Bearer second", "Bearer second"]
    assert [subject["commonName"] for *_, subject in server.asked] == ["client", "client", "second"]
    assert server.lines[0] is server.lines[1], "a token needs no new connection"


def test_401_runs_the_program_again(folder, keys, api_to):
    given = json.dumps({"status": {"token": "t"}})
    with Server(keys, (200, {}, NODE), (401, {}, {}), (200, {}, NODE), keeps=True) as server:
        api = api_to(server, program(folder, f"echo x >> {folder}/runs; echo '{given}'"))
        api.get("/")
        assert code_of(lambda: api.get("/")) == 401
        api.get("/")
    assert (folder / "runs").read_text() == "x\n" * 2


@pytest.mark.parametrize(("code", "contacts"), [(302, 1), (403, 1), (409, 1), (422, 1), (429, 0), (500, 0), (503, 0)])
@pytest.mark.parametrize("call", ["get", "watch"])
def test_a_refusal_has_the_words_of_its_status(keys, api_to, code, contacts, call):
    """And proves contact, except where it may come from something else than a working server. No redirect is followed."""
    causes = [{"field": "metadata.uid", "message": "changed"}]
    status = {"kind": "Status", "message": "no: hunter2-token", "reason": "Conflict", "details": {"causes": causes}}
    seen = []
    with Server(keys, (code, {"Retry-After": "3", "Location": "/other"}, status)) as server:
        api = api_to(server, on_answer=lambda: seen.append(1))
        with pytest.raises(ApiError) as raised:
            api.get("/") if call == "get" else api.watch("/", "1")
    error = raised.value
    assert (error.code, error.fields, error.retry_after_s) == (code, ("metadata.uid",), 3)
    assert error.message == f"the API server answers {code}: no: <removed>"
    assert (len(seen), len(server.asked)) == (contacts, 1)


@pytest.mark.parametrize(
    ("status", "is_not_found"),
    [
        ({"kind": "Status", "reason": "NotFound"}, True),
        ({"kind": "Status", "reason": "Gone"}, False),
        ({"reason": "no"}, False),
        ("<html>", False),
    ],
)
def test_a_404_of_a_proxy_is_neither_contact_nor_an_object_that_is_gone(keys, api_to, status, is_not_found):
    seen = []
    answer = status if isinstance(status, dict) else lambda stream: stream.write(status.encode())
    with Server(keys, (404, {}, answer)) as server, pytest.raises(ApiError) as raised:
        api_to(server, on_answer=lambda: seen.append(1)).get("/")
    assert (raised.value.is_not_found, len(seen)) == (is_not_found, int(isinstance(status, dict) and "kind" in status))


@pytest.mark.parametrize("call", ["get", "watch"])
def test_no_error_has_the_password_of_a_proxy(folder, keys, call):
    with Server(keys, (200, {}, NODE)) as server:
        path = config(folder, server, {"token": "hunter2-token"}, **{"proxy-url": "http://bob:pass-word@127.0.0.1:9"})
        api = Api(lambda: kubeconfig(str(path)), "hostagent/1")
        with pytest.raises(ApiError) as raised:
            api.get("/") if call == "get" else api.watch("/", "1")
    assert "connection refused" in raised.value.message
    assert not any(word in repr(raised.value) for word in ("pass-word", "hunter2"))


def test_pages_are_followed_with_every_sign_quoted(keys, api_to):
    first = {**LIST, "metadata": {"resourceVersion": "7", "continue": "a+/=&b c%2F", "remainingItemCount": 1}}
    with Server(keys, (200, {}, first), (200, {}, {**LIST, "items": None})) as server:
        pages = list(api_to(server).pages("/api/v1/nodes", limit=3, selector="a.b/c!=d,e in (f,g)", form="metadata"))
    assert [page[:2] for page in pages] == [([NODE], "7"), ([], "7")]
    asked = [(path.partition("?")[0], parse_qs(path.partition("?")[2])) for path, *_ in server.asked]
    query = {"limit": ["3"], "labelSelector": ["a.b/c!=d,e in (f,g)"]}
    assert asked == [("/api/v1/nodes", query), ("/api/v1/nodes", {**query, "continue": ["a+/=&b c%2F"]})]
    assert server.asked[0][1]["Accept"] == "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


@pytest.mark.parametrize(("mib", "is_list", "is_object"), [(3, True, True), (5, True, False), (65, False, False)])
def test_an_answer_has_a_most_of_bytes_however_well_it_is_packed(keys, api_to, mib, is_list, is_object):
    data = gzip.compress(json.dumps(LIST).encode() + b" " * mib * 1024 * 1024, 1)
    with Server(keys, (200, {"Content-Encoding": "gzip"}, data), keeps=True) as server:
        api = api_to(server)
        for call, fits in ((lambda: next(api.pages("/", limit=1)), is_list), (lambda: api.get("/"), is_object)):
            with contextlib.nullcontext() if fits else pytest.raises(ApiError, match="too long"):
                call()


NESTED = json.loads("[" * 400 + "]" * 400)
JUNK = (None, True, 7, -1.5, 10**400, "", "x", "\ud800", [], [7], [None], {}, {"a": {}}, NESTED)
_STATUS = {"message": "m", "code": 410, "details": {"causes": [{"field": "f"}]}}
_CAUSES = [("details",), ("details", "causes"), ("details", "causes", 0), ("details", "causes", 0, "field")]
DOCUMENTS = {
    "list": (LIST, [("kind",), ("items",), ("items", 0), ("metadata",)]),
    "page": (LIST, [("metadata", name) for name in ("resourceVersion", "continue")]),
    "status": (_STATUS, [("message",), *_CAUSES]),
    "event": ({"type": "ADDED", "object": NODE}, [("type",), ("object",)]),
    "error": ({"type": "ERROR", "object": _STATUS}, [("object", *place) for place in [("message",), ("code",), ("details",)]]),
}


def damaged(document, places):
    yield from JUNK
    for place, value in itertools.product(places, JUNK):
        found = one = copy.deepcopy(document)
        for key in place[:-1]:
            one = one[key]
        one[place[-1]] = value
        yield found


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_whatever_json_an_answer_is_the_error_is_ours(keys, api_to, kind):
    calls = {
        "list": lambda api: list(itertools.islice(api.pages("/", limit=1), 2)),
        "page": lambda api: list(itertools.islice(api.pages("/", limit=1), 2)),
        "status": lambda api: api.get("/"),
    }
    errors = []
    with Server(keys, (200, {}, {}), keeps=True) as server:
        api = api_to(server)
        for found in (*damaged(*DOCUMENTS[kind]), b"", b"{", b"\xff", b"[" * 100_000, b"<html>", b"9" * 5000):
            data = found if isinstance(found, bytes) else json.dumps(found).encode()
            server.answers[:] = [(403 if kind == "status" else 200, {}, data + b"\n")]
            try:
                for one in calls.get(kind, lambda api: api.watch("/", "1"))(api):
                    assert isinstance(one.object, dict) if isinstance(one, Event) else all(isinstance(item, dict) for item in one.items)
                    assert isinstance(one, Event) or one.resource_version
            except ApiError as error:
                errors.append(error)
    assert {type(one.code) for one in errors} == {int}
    assert {type(text) for one in errors for text in (one.message, *one.fields)} == {str}


def test_a_watch_has_events_however_they_are_cut_and_ends_with_its_error(keys, api_to):
    text = event("ADDED", a="ü" * 20) + b"\n" + event("BOOKMARK", metadata={"resourceVersion": "9"})
    text += event("ERROR", code=410, reason="Expired", message="too old") + event("ADDED")
    seen, found = [], []
    with Server(keys, (200, CHUNKED, chunks(*(text[at : at + 21] for at in range(0, len(text), 21)))), keeps=True) as server:
        api = api_to(server, on_answer=lambda: seen.append(1))
        watch = api.watch("/api/v1/nodes", "5", selector="a=b", timeout_s=60)
        with pytest.raises(ApiError) as raised:
            found.extend(watch)
    assert found == [("ADDED", {"a": "ü" * 20}), ("BOOKMARK", {"metadata": {"resourceVersion": "9"}})]
    assert (raised.value.code, len(seen)) == (410, 3)
    query = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": "5", "timeoutSeconds": "60", "labelSelector": "a=b"}
    assert parse_qs(server.asked[0][0].partition("?")[2]) == {name: [value] for name, value in query.items()}


def test_a_watch_ends_quietly_only_where_the_server_ends_it(keys, api_to):
    one = event("ADDED", a=1)
    with Server(keys, (200, CHUNKED, chunks(one)), (200, CHUNKED, chunks(one, end=b"")), keeps=True) as server:
        api = api_to(server)
        assert list(api.watch("/", "1")) == [("ADDED", {"a": 1})]
        assert code_of(lambda: list(api.watch("/", "1"))) == 0
        server.answers[:] = [(200, CHUNKED, chunks(b"x" * 9 * 1024 * 1024))]
        with pytest.raises(ApiError, match="too long"):
            list(api.watch("/", "1"))


def test_a_stream_that_is_silent_is_an_error(folder, keys):
    over = threading.Event()
    with Server(keys, (200, CHUNKED, chunks(b"x\n", wait=over)), keeps=True) as server:
        path = config(folder, server, {"token": "t"})
        lines = iter(Transport(lambda: kubeconfig(str(path)), "hostagent/1").stream(Request("GET", "/"), 0.4))
        assert next(lines) == b"x"
        with pytest.raises(UnreachedError, match="timed out"):
            next(lines)
        over.set()


@pytest.mark.parametrize("is_read", [True, False])
def test_a_watch_closed_by_another_thread_ends_soon_and_leaves_no_descriptor(keys, api_to, is_read):
    over, found, ended = threading.Event(), [], []
    with Server(keys, (200, CHUNKED, chunks(event("ADDED", a=1), wait=over)), keeps=True) as server:
        api = api_to(server)
        before = len(os.listdir("/proc/self/fd"))
        watch = api.watch("/", "1")
        reader = threading.Thread(target=lambda: ended.append(found.extend(watch)) if is_read else None)
        reader.start()
        while is_read and not found:
            time.sleep(0.01)
        watch.close()
        reader.join(2)
        assert not reader.is_alive()
        over.set()
        assert descriptors(before) <= before
    assert (found, ended) == ([("ADDED", {"a": 1})] * is_read, [None] * is_read), "without an error"


def test_a_page_asks_for_fields_and_says_what_follows(keys, api_to):
    first = {**LIST, "metadata": {"resourceVersion": "7", "continue": "more"}}
    with Server(keys, (200, {}, first), (200, {}, LIST)) as server:
        api = api_to(server)
        listing = Listing("/api/v1/pods", 5, fields="spec.nodeName=a,status.phase!=Failed")
        followings = [api.page(listing).following, api.page(listing, "more").following]
    queries = [parse_qs(path.partition("?")[2]) for path, *_ in server.asked]
    assert followings == ["more", ""]
    assert queries[0] == {"limit": ["5"], "fieldSelector": ["spec.nodeName=a,status.phase!=Failed"]}
    assert queries[1]["continue"] == ["more"]


TABLE = {"kind": "Table", "metadata": {"resourceVersion": "7"}, "rows": [{"cells": ["n"]}]}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({**TABLE, "metadata": {"remainingItemCount": 9}}, 10),
        (TABLE, 1),
        ({**TABLE, "rows": []}, 0),
        ({**TABLE, "rows": None}, 0),
    ],
    ids=["more", "one", "none", "null"],
)
def test_objects_are_counted_by_a_table(keys, api_to, table, expected):
    with Server(keys, (200, {}, table)) as server:
        assert api_to(server).count("/api/v1/nodes") == expected
    path, headers, *_ = server.asked[0]
    assert parse_qs(path.partition("?")[2]) == {"limit": ["1"], "includeObject": ["None"]}
    assert "as=Table" in headers["Accept"]


@pytest.mark.parametrize(
    "table", [LIST, {**TABLE, "rows": 7}, {**TABLE, "rows": 7, "items": []}, {**TABLE, "metadata": {"remainingItemCount": "9"}}, {}]
)
def test_what_is_no_table_is_no_count(keys, api_to, table):
    with Server(keys, (200, {}, table)) as server:
        assert code_of(lambda: api_to(server).count("/api/v1/nodes")) == 200


@pytest.mark.parametrize("code", [200, 403])
def test_the_servers_clock_is_that_of_its_answer(keys, api_to, code):
    with Server(keys, (code, {}, NODE)) as server:
        api = api_to(server)
        with contextlib.suppress(ApiError):
            api.get("/version")
    assert api.answered_at == pytest.approx(time.time(), abs=30)


def test_another_one_of_an_api_runs_the_program_of_its_credential_no_more(keys, api_to, folder):
    given = json.dumps({"status": {"token": "t"}})
    with Server(keys, (200, {}, NODE)) as server:
        one = api_to(server, program(folder, f"echo x >> {folder}/runs; echo '{given}'"))
        one.get("/version")
        with contextlib.closing(one.another()) as other:
            other.get("/version")
    assert [headers["Authorization"] for _, headers, *_ in server.asked] == ["Bearer t", "Bearer t"]
    assert (folder / "runs").read_text() == "x\n"
