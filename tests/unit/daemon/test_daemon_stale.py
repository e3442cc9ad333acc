"""When no pass is judged for too long: everything that is published, and every file, says that nothing is known, until one is."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from hostagent.daemon import record, statedir
from hostagent.daemon.file_outputs import features
from hostagent.daemon.metrics import of_node
from hostagent.daemon.shared_state import SharedState
from hostagent.daemon.staleness import made_stale, write
from tests.unit.daemon.test_daemon_node_status import BROKEN, HEALTHY, Host

DAY = 1_795_921_200.0
DEGRADED = "hgx-h100-next-kernel-without-module"


@pytest.fixture
def host(tmp_path):
    made = Host(tmp_path)
    made.look(HEALTHY, HEALTHY)
    return made


def newest(host):
    return host.publisher.messages[-1]


def files(host):
    folder = host.settings.state_dir
    return {
        name: json.loads(statedir.text(folder, name).value)
        for name in (statedir.STATE, statedir.SUMMARY, statedir.PUBLISHED, statedir.RECORD)
    }


def test_whatever_says_how_well_the_node_is_becomes_unknown_and_what_it_is_stays(host):
    before = newest(host)
    after = made_stale(before, DAY)
    assert {(one.status, one.reason, one.changed_at) for one in after.words.conditions} == {("Unknown", "AgentStale", DAY)}
    assert [one.type for one in after.words.conditions] == [one.type for one in before.words.conditions]
    changed = {name for name, value in after.words.labels.items() if value != before.words.labels[name]}
    assert changed == {"ready", "multi-node-ready"}
    assert {after.words.labels[name] for name in changed} == {"unknown"}
    summary = json.loads(after.words.annotations["summary"])
    assert summary["verdict"] == after.summary["verdict"] == {"single_node": "unknown", "multi_node": "unknown"}
    assert summary["fabric"] == before.summary["fabric"]
    text = of_node(after)
    assert 'hostagent_ready{scope="single_node"} 0\n' in text
    assert 'hostagent_verdict{scope="multi_node",verdict="unknown"} 1\n' in text
    assert 'verdict="ready"} 1' not in text
    assert 'hostagent_condition{condition="Ready",status="Unknown",reason="AgentStale"} 1\n' in text
    assert "hostagent.dev/ready=unknown\n" in features(after, "hostagent.dev")
    assert "expiry-time" in features(before, "hostagent.dev")
    assert "expiry-time" not in features(after, "hostagent.dev")


def test_the_board_says_so_once_and_a_pass_ends_it(host):
    shared, said = SharedState(150.0), newest(host)
    shared.publish(said, said.judged_by)
    assert shared.stale(said.judged_by + 150, DAY) is None
    made = shared.stale(said.judged_by + 151, DAY)
    assert shared.look().message is made
    assert shared.stale(said.judged_by + 999, DAY + 999) is made, "once"
    shared.tick(said.judged_by + 999)
    assert shared.look().message is made, "a loop that is heard has not judged"
    fresh = replace(said, judged_by=said.judged_by + 1000)
    shared.publish(fresh, said.judged_by + 1000)
    assert shared.look().message is fresh


def test_a_publisher_that_takes_the_place_of_another_one_does_not_take_an_old_pass_for_a_new_one(host):
    shared, said = SharedState(150.0), newest(host)
    shared.publish(said, said.judged_by + 500)
    assert shared.newest(None, 0)[0].is_stale, "whoever looks first does not see the old one either"
    assert shared.stale(said.judged_by + 500, DAY).is_stale


def test_what_an_earlier_process_told_becomes_unknown_too_where_no_pass_comes(host):
    host.begin()
    kept, shared = newest(host), SharedState(150.0)
    shared.publish(kept, 1000.0)
    assert shared.stale(1100.0, DAY) is None
    made = shared.stale(1151.0, DAY)
    assert made.words.labels == {"ready": "unknown", "multi-node-ready": "unknown"}
    assert made.words.annotations == {"summary": None}, "the old one would be believed"
    assert {one.reason for one in made.words.conditions} == {"AgentStale"}


def test_whoever_waits_for_what_is_new_is_woken(host):
    shared, said = SharedState(0.05), newest(host)
    shared.publish(said, said.judged_by)
    seen = []
    reader = threading.Thread(target=lambda: seen.append(shared.newest(said, 20.0)[0]))
    reader.start()
    shared.stale(said.judged_by + 1, DAY)
    reader.join(10.0)
    assert seen[0].is_stale


def test_every_file_says_so_and_a_restart_goes_on_from_it(host):
    made = made_stale(newest(host), DAY)
    news, problems = write(host.settings, made, DAY)
    assert problems == ()
    assert {(one.old, one.new, one.reason, one.at) for one in news} == {("True", "Unknown", "AgentStale", DAY)}
    found = files(host)
    assert found[statedir.STATE]["verdict"] == found[statedir.STATE]["measured"] == {"single_node": "unknown", "multi_node": "unknown"}
    assert {one["reason"] for one in found[statedir.STATE]["conditions"]} == {"AgentStale"}
    assert found[statedir.STATE]["last_transition"]["reason"] == "AgentStale"
    assert found[statedir.SUMMARY]["verdict"]["single_node"] == "unknown"
    host.begin()
    assert {one.reason for one in newest(host).words.conditions} == {"AgentStale"}
    host.look(HEALTHY)
    assert host.publisher.ready.status == "True", "the first pass that finds what the last one found ends it"
    turned = record.load(statedir.text(host.settings.state_dir, statedir.RECORD).value).record.transitions
    assert [(one.old, one.new) for one in turned if one.condition == "Ready"][-2:] == [("True", "Unknown"), ("Unknown", "True")]


def test_what_was_unknown_already_has_not_turned(host):
    said = newest(host)
    first, *rest = said.words.conditions
    words = replace(said.words, conditions=(replace(first, status="Unknown", changed_at=7.0), *rest))
    after = made_stale(replace(said, words=words), DAY)
    assert [one.changed_at for one in after.words.conditions] == [7.0] + [DAY] * len(rest)


def test_what_turns_is_on_record_where_the_other_files_cannot_be_read(host):
    made = made_stale(newest(host), DAY)
    (Path(host.settings.state_dir) / statedir.STATE).write_text("{")
    news, problems = write(host.settings, made, DAY)
    assert {one.new for one in news} == {"Unknown"}
    assert any("is damaged" in one for one in problems)


@pytest.mark.parametrize("damage", [lambda place: place.unlink(), lambda place: place.write_text("{")])
def test_a_record_that_is_gone_is_written_again_and_nothing_is_made_up_meanwhile(host, damage):
    place = Path(host.settings.state_dir) / statedir.RECORD
    before = files(host)[statedir.RECORD]
    damage(place)
    news, _ = write(host.settings, made_stale(newest(host), DAY), DAY)
    assert news == ()
    host.look(HEALTHY)
    assert files(host)[statedir.RECORD]["transitions"][: len(before["transitions"])] == before["transitions"]
    assert host.publisher.ready.status == "True"


@pytest.mark.parametrize("time", ["1" + "0" * 400, "1e400", "NaN", '"x"', "-1"])
def test_a_time_of_no_calendar_in_the_state_ends_no_start(host, time):
    place = Path(host.settings.state_dir) / statedir.STATE
    document = json.loads(place.read_text())
    place.write_text(json.dumps({**document, "observed_at": 0}).replace('"observed_at": 0', f'"observed_at": {time}', 1))
    host.begin()
    assert newest(host).observed_at == 0


def test_a_host_that_flapped_is_what_it_is_after_the_silence(host):
    """Not unknown for an hour, which nobody measured."""
    host.look(*[DEGRADED, HEALTHY] * 4)
    assert host.publisher.ready.reason == "Flapping"
    status = host.publisher.ready.status
    host.loop._judged_by -= 1000
    host.look(HEALTHY)
    assert (host.publisher.ready.status, host.publisher.ready.reason) == (status, "Flapping")
    assert "judged no pass" not in host.publisher.ready.message


def test_a_record_that_could_not_be_written_is_written_by_a_later_pass(host, tmp_path):
    folder = tmp_path / "kept"
    host.settings = replace(host.settings, history_dir=str(folder))
    folder.write_text("in the place of the folder")
    host.begin()
    host.look(BROKEN, BROKEN)
    assert sum("no state written" in one.get("message", "") for one in host.lines) == 1
    folder.unlink()
    host.look(BROKEN)
    assert json.loads((folder / statedir.RECORD).read_text())["transitions"][-1]["new"] == "False"


def test_a_problem_that_comes_again_is_said_again(host):
    folder = Path(host.settings.state_dir) / statedir.SUMMARY
    for _ in range(2):
        folder.unlink()
        folder.mkdir()
        host.look(HEALTHY, HEALTHY)
        folder.rmdir()
        host.look(HEALTHY)
    assert sum("summary.json is not written" in one.get("message", "") for one in host.lines) == 2


def test_a_pass_that_came_meanwhile_is_not_overwritten(host):
    made = made_stale(replace(newest(host), observed_at=1.0), DAY)
    before = files(host)
    assert write(host.settings, made, DAY) == ((), ())
    assert files(host) == before


@pytest.mark.parametrize("published", [True, False])
def test_a_loop_that_was_stopped_goes_on_from_what_was_published_meanwhile(host, published):
    host.loop._judged_by -= 1000
    if published:
        write(host.settings, made_stale(newest(host), DAY), DAY)
    host.look(HEALTHY)
    assert host.publisher.ready.status == "True"
    ready = [one for one in newest(host).news if one.condition == "Ready"][-2:]
    assert [(one.old, one.new) for one in ready] == [("True", "Unknown"), ("Unknown", "True")]
    assert (ready[0].at == DAY) == published
    assert host.publisher.ready.changed_at == ready[1].at, "the status turned"


def test_a_fault_that_came_meanwhile_is_told_at_once(host):
    host.loop._judged_by -= 1000
    host.look(BROKEN)
    assert host.publisher.ready.status == "False"


def test_each_transition_has_its_line_and_a_host_that_flips_has_few(host):
    host.look(BROKEN, HEALTHY, HEALTHY)
    ready = [one for one in host.lines if one.get("condition") == "Ready"]
    assert [(one["event"], one["from"], one["to"]) for one in ready] == [
        ("transition", "none", "Unknown"), ("recovery", "Unknown", "True"), ("transition", "True", "False"), ("recovery", "False", "True")
    ]  # fmt: skip
    assert all(one.keys() >= {"time", "reason", "message"} for one in ready)
    host.look(*[BROKEN, HEALTHY] * 20)
    rows = [one for one in host.lines if one.get("condition") == "Ready"][4:]
    assert sum(one["event"] == "flapping" for one in rows) == 1, "once a minute at most"
    assert len(rows) <= 6
