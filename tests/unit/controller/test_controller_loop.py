"""The controller as a process: it leads while it holds the lease, ends when it is asked to, and serves its state over HTTP."""

import re
import threading
import time
from http import HTTPStatus

import pytest

from hostagent.controller.counts import Counts
from hostagent.controller.fleet import STATES
from hostagent.controller.limits import parse_limit
from hostagent.controller.loop import Controller, Page
from hostagent.controller.node import NOT_READY
from hostagent.controller.settings import Settings, default_selectors
from hostagent.kube.api import ApiError
from hostagent.kube.api import Page as ListPage
from hostagent.outputs.log import Log
from tests.fakecluster import PREFIX, Cluster, made_node

LEASES = "/apis/coordination.k8s.io/"


class Quiet:
    """A watch without events."""

    def __init__(self):
        self._closed = threading.Event()

    def __iter__(self):
        self._closed.wait(30)
        return iter(())

    def close(self):
        self._closed.set()


class Server(Cluster):
    """With a Lease, and no rules. `fail`: raised by each request about the Lease."""

    def __init__(self):
        super().__init__()
        self.lease, self.fail, self.failures = None, None, 0

    def get(self, path, **form):
        if not path.startswith(LEASES):
            return super().get(path, **form)
        if self.fail:
            self.failures += 1
            raise self.fail
        if self.lease is None:
            raise ApiError("not found", 404)
        return self.lease

    def create(self, path, body):
        if not path.startswith(LEASES):
            return super().create(path, body)
        self.lease = body
        return body

    def replace(self, path, body):
        self.lease = body
        return body

    def pages(self, path, **given):
        if "nodereadinessrules" in path:
            yield ListPage([], "1")
        else:
            yield from super().pages(path, **given)

    def watch(self, *_, **__):
        return Quiet()


def settings(**more):
    given = {"taints": "auto", "is_multi_node": True, "is_dry_run": False, "is_elected": True, "namespace": "ns", **more}
    limits = {"max_silent": parse_limit("20%"), "max_tainted": parse_limit("50%")}
    return Settings(prefix=PREFIX, selectors=default_selectors(PREFIX), stale_after_s=900.0, **limits, **given)


class Running:
    """A controller in a thread, with a node whose verdict is false."""

    def __init__(self, server, **more):
        self.server, self.lines, self.errors = server, [], []
        server.put(made_node("n", "u", labels={f"{PREFIX}/ready": "false"}))
        server.change("n", lambda node: node["metadata"]["annotations"].update({f"{PREFIX}/summary": "{}"}))
        self.controller = Controller(settings(**more), lambda _: server, Log("text", self.lines.append))
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        try:
            self.controller.run()
        except Exception as error:
            self.errors.append(error)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.controller.stop()
        self.thread.join(10)
        assert not self.thread.is_alive()

    def until(self, holds):
        ends = time.monotonic() + 20
        while not holds() and time.monotonic() < ends:
            time.sleep(0.01)
        assert holds(), self.lines

    def events(self):
        return [re.search(r"event=(\S+)", line)[1] for line in self.lines]


def is_tainted(server):
    return [one["key"] for one in server.nodes["n"]["spec"]["taints"]][:1] == [NOT_READY]


def test_it_leads_with_the_lease_and_gives_it_back_at_its_end():
    server = Server()
    with Running(server) as running:
        running.until(lambda: is_tainted(server))
        assert server.lease["spec"]["holderIdentity"]
        running.until(lambda: running.controller.counts.is_settled)
        assert running.controller.counts.is_leader
        began = time.monotonic()
    assert time.monotonic() - began < 5, "stop is obeyed soon"
    assert (server.lease["spec"]["holderIdentity"], running.errors) == ("", [])
    assert running.events()[0] == "lead"
    assert running.events()[-1] == "lead-ended"
    assert not running.controller.counts.is_leader
    assert running.controller.counts.nodes == dict.fromkeys(STATES, 0), "who does not lead knows nothing of nodes"


def test_without_the_lease_it_writes_nothing():
    server = Server()
    server.lease = {"metadata": {}, "spec": {"holderIdentity": "other", "renewTime": "x"}}
    with Running(server) as running:
        counts = running.controller.counts
        running.until(lambda: counts.alive_at)
        first = counts.alive_at
        running.until(lambda: counts.alive_at > first)
        assert Page(counts).answer("/livez", "", "").status == Page(counts).answer("/readyz", "", "").status == HTTPStatus.OK
        assert not counts.is_leader
    assert (server.patches, server.events, running.lines) == ([], [], [])
    assert server.lease["spec"]["holderIdentity"] == "other"


def test_a_dry_run_takes_no_lease_and_writes_nothing():
    server = Server()
    with Running(server, is_dry_run=True) as running:
        running.until(lambda: "would_add" in running.events())
        assert not running.controller.counts.is_leader
        assert running.controller.counts.taints == {"would_add": 2}
    assert (server.patches, server.events, server.lease) == ([], [], None)


def test_without_election_it_leads_at_once_without_a_lease():
    server = Server()
    with Running(server, is_elected=False) as running:
        running.until(lambda: is_tainted(server))
        assert running.controller.counts.is_leader
    assert server.lease is None


def test_a_crash_of_the_thread_that_renews_ends_it():
    server = Server()
    server.fail = bug = RuntimeError("a bug")
    with Running(server) as running:
        running.thread.join(10)
        assert running.errors == [bug]


def test_a_crash_of_a_thread_that_watches_ends_it():
    bug = RuntimeError("a bug")

    class Broken(Quiet):
        def __iter__(self):
            raise bug

    server = Server()
    server.watch = lambda *_, **__: Broken()
    with Running(server) as running:
        running.thread.join(10)
        assert running.errors == [bug]


def test_a_lease_that_is_not_renewed_is_reported_once():
    server = Server()
    server.fail = ApiError("the API server answers 403: no", 403)
    with Running(server) as running:
        running.until(lambda: server.failures == 2)
    assert [line.partition("message=")[2] for line in running.lines] == ['"the lease is not renewed: the API server answers 403: no"']


# -- HTTP


@pytest.fixture
def counts():
    found = Counts()
    found.alive_at = time.monotonic()
    return found


def test_livez_is_503_once_the_loop_was_silent(counts):
    page = Page(counts)
    assert page.answer("/livez", "", "").status == HTTPStatus.OK
    counts.alive_at = time.monotonic() - 115
    assert page.answer("/livez", "", "").status == HTTPStatus.OK
    counts.alive_at = time.monotonic() - 125
    answer = page.answer("/livez", "", "")
    assert (answer.status, answer.text) == (HTTPStatus.SERVICE_UNAVAILABLE, "the main loop has not run for 125 s\n")


def test_readyz_names_the_problems(counts):
    page = Page(counts)
    assert page.answer("/readyz", "", "").text == "ok\n"
    counts.problems = {"rules": "rules cannot be read", "events": ""}
    answer = page.answer("/readyz", "", "")
    assert (answer.status, answer.text) == (HTTPStatus.OK, "rules cannot be read\n")


@pytest.mark.parametrize("path", ["/", "/metric", "/metrics/", "/../metrics", ""])
def test_another_page_is_404_and_names_those_that_there_are(counts, path):
    answer = Page(counts).answer(path, "", "")
    assert answer.status == HTTPStatus.NOT_FOUND
    assert "/livez, /readyz, /metrics" in answer.text


_SAMPLE = re.compile(r'([a-z_]+)(?:\{([a-z]+)="([a-z_-]+)"\})? ([0-9]+)')


def metrics(counts):
    """By name and value of the label. Each family begins with its help and type, and stands together."""
    answer = Page(counts).answer("/metrics", "", "")
    assert answer.kind.startswith("text/plain; version=0.0.4")
    found, family = {}, ""
    for line in answer.text.splitlines():
        if line.startswith("# HELP "):
            helped = line.split()[2]
        elif line.startswith("# TYPE "):
            family, kind = line.split()[2:]
            assert family == helped
            assert (kind == "counter") == family.endswith("_total")
        else:
            name, _, value, number = _SAMPLE.fullmatch(line).groups()
            assert name == family
            assert (name, value or "") not in found
            found[name, value or ""] = int(number)
    return found


def test_metrics_have_the_names_of_the_page_and_each_value_from_the_start(counts):
    name = "hostagent_controller"
    nodes = {(f"{name}_nodes", state): 0 for state in ("ready", "not_ready", "unknown", "silent", "no_agent")}
    stopped = {(f"{name}_stopped", limit): 0 for limit in ("silent", "tainted", "no-agent")}
    assert metrics(counts) == {**nodes, **stopped, (f"{name}_is_leader", ""): 0, (f"{name}_settled", ""): 0}
    counts.is_leader = counts.is_settled = True
    counts.nodes = {**counts.nodes, "silent": 3}
    counts.stopped = {**counts.stopped, "tainted": "n7"}
    counts.taints.update({"add": 2, "would_remove": 1})
    counts.closings["close"] = 4
    found = metrics(counts)
    assert found.items() > {(f"{name}_is_leader", ""): 1, (f"{name}_settled", ""): 1, (f"{name}_nodes", "silent"): 3}.items()
    assert (found[f"{name}_stopped", "tainted"], found[f"{name}_stopped", "silent"]) == (1, 0)
    assert (found[f"{name}_taints_total", "add"], found[f"{name}_taints_total", "would_remove"]) == (2, 1)
    assert found[f"{name}_closings_total", "close"] == 4
