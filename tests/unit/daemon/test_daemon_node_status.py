"""The loop, pass by pass, over a recording that changes: what it gives the teller."""

import json
import shutil
from pathlib import Path

import pytest

from hostagent.cli.options import prepared_for
from hostagent.daemon.loop import Load, Loop
from hostagent.daemon.settings import Settings
from hostagent.engine.target import Evidence
from hostagent.outputs.log import Log

HOSTS = Path(__file__).parents[2] / "hosts"
HEALTHY, BROKEN = "hgx-h100-roce", "hgx-h100-links-down"


class Publisher:
    """Keeps what it is told."""

    def __init__(self):
        self.messages, self.ticks = [], 0

    def publish(self, what, now):
        self.messages.append(what)

    def tick(self, now):
        self.ticks += 1

    @property
    def words(self):
        return self.messages[-1].words

    @property
    def ready(self):
        return next(one for one in self.words.conditions if one.type == "Ready")


class Wake:
    """Hears nothing."""

    problem = ""

    def cached_answers(self):
        return {}

    def passed(self, done, files):
        pass


class Host:
    """A loop over a recording in `folder`."""

    def __init__(self, folder):
        self.tape, self.publisher, self.lines = folder / "host.json", Publisher(), []
        state = str(folder / "state")
        self.settings = Settings(Evidence(snapshot=str(self.tape)), "", "n1", state, history_dir=state)
        self.is_now(HEALTHY)
        self.begin()

    def begin(self):
        load = lambda before: Load(before or prepared_for(self.settings.evidence, ""), "")  # noqa: E731
        self.loop = Loop(self.settings, load, self.publisher, Log("json", lambda line: self.lines.append(json.loads(line))))
        self.loop.begin()

    def is_now(self, name):
        shutil.copy(HOSTS / name / "tape.json", self.tape)

    def look(self, *names):
        for name in names:
            self.is_now(name)
            self.loop.one("configuration", Wake())


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def test_before_the_first_pass_it_says_that_nobody_has_looked(host):
    (said,) = host.publisher.messages
    assert not said.has_pass
    assert {(one.status, one.reason) for one in said.words.conditions} == {("Unknown", "FirstPass")}
    assert (len(said.words.conditions), dict(said.words.annotations)) == (6, {"summary": None})


def test_a_start_in_the_same_boot_says_nothing_before_its_first_pass(host):
    host.look(HEALTHY, HEALTHY)
    before = host.publisher.words
    host.begin()
    kept = host.publisher.messages[-1]
    assert (kept.is_kept, kept.words.conditions) == (True, before.conditions), "written only when no pass comes"
    assert host.publisher.ticks >= 1, "the probes are served meanwhile"
    host.look(HEALTHY)
    assert host.publisher.words == before


def test_twenty_starts_with_the_same_verdict_are_no_transition(host):
    host.look(BROKEN)
    since = [(one.type, one.changed_at) for one in host.publisher.words.conditions if one.reason != "FirstPass"]
    for _ in range(20):
        host.begin()
        host.look(BROKEN)
        now = {one.type: one.changed_at for one in host.publisher.words.conditions}
        assert [(name, now[name]) for name, _ in since] == since


def test_a_host_that_goes_on_flipping_has_the_same_words(host):
    host.look(HEALTHY, HEALTHY, *[BROKEN, HEALTHY] * 4, BROKEN)
    assert (host.publisher.ready.status, host.publisher.ready.reason) == ("False", "Flapping")
    words = []
    for name in [HEALTHY, BROKEN] * 3:
        host.look(name)
        words.append(host.publisher.words)
        assert host.publisher.messages[-1].summary["verdict"]["single_node"] == "not_ready"
        assert host.publisher.messages[-1].summary["headline"] != ""
    assert all(one == words[0] for one in words), "labels and summary, too: else each flip is a write"
    assert '"single_node":"not_ready"' in words[0].annotations["summary"]


def test_what_one_pass_could_not_confirm_changes_no_label(host):
    host.look(HEALTHY, HEALTHY)
    before = host.publisher.words
    host.look("hgx-h100-userland-upgraded")
    assert host.publisher.ready.status == "False"
    assert host.publisher.words.labels["compute-capability"] is None
    host.look(HEALTHY)
    assert host.publisher.words.labels["compute-capability"] is None, "told with the verdict, when the next pass finds it, too"
    host.look(HEALTHY)
    assert host.publisher.words.labels == before.labels
