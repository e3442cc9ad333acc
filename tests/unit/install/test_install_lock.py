"""The lock of a target, and the runs that it remembers."""

import os
import subprocess
import sys

import pytest

from hostagent.errors import HostagentError
from hostagent.evidence import Evidence
from hostagent.install import runs
from hostagent.install.lock import VARIABLE, Busy, left_over, take
from hostagent.install.target import Target


@pytest.fixture
def target(tmp_path):
    (tmp_path / "var/lib").mkdir(parents=True)
    return Target(Evidence(root=str(tmp_path)))


def test_without_a_lock_file_there_is_nothing_to_wait_for(target):
    assert take(target, 0, make=False) is None
    assert os.listdir(f"{target.path}/var/lib") == []


def test_a_second_one_is_told_that_another_runs(target):
    lock = take(target, 0, make=True)
    with pytest.raises(Busy, match="another run of hostagent"):
        take(target, 0, make=True)
    lock.close(changed=True)
    again = take(target, 0, make=False)
    assert not again.waited
    again.close(changed=True)


def test_where_nothing_was_changed_the_lock_leaves_nothing(target):
    take(target, 0, make=True).close(changed=False)
    assert os.listdir(f"{target.path}/var/lib") == []


def test_a_lock_that_others_may_write_is_refused(target):
    take(target, 0, make=True).close(changed=True)
    os.chmod(f"{target.path}/var/lib/hostagent/lock", 0o666)
    with pytest.raises(HostagentError, match="root's alone"):
        take(target, 0, make=True)


def test_what_an_ended_run_left_at_work_is_waited_for_and_a_service_is_not(target):
    environment = {**os.environ, VARIABLE: f"{target.id}:1"}
    sleep = [sys.executable, "-c", "import time; print('x', flush=True); time.sleep(30)"]
    with subprocess.Popen(sleep, env=environment, stdout=subprocess.PIPE) as program:
        program.stdout.read(1)
        assert [one.pid for one in left_over(target)] == [program.pid]
        with pytest.raises(Busy, match=f"pid {program.pid}"):
            take(target, 0, make=True)
        program.kill()
    null = subprocess.DEVNULL
    with subprocess.Popen(sleep, env=environment, stdin=null, stdout=null, stderr=null) as service:
        assert left_over(target) == ()
        service.kill()


def test_the_state_of_a_run_is_what_its_journal_says_last(target):
    with runs.opened(target) as run:
        run.save("before.json", {"packages": {"a:amd64": {"name": "a", "held": True}, "b:amd64": {"name": "b", "held": False}}})
        run.save("plan.json", {"steps": [{"id": "driver.hold", "state": "to-do"}, {"id": "driver.load", "state": "done"}]})
        runs.begin(run)
    assert (run.number, runs.newest(target).state) == (1, "begun")
    assert runs.unfinished(target.place) == (("driver.hold",), ("a",))
    for event, state in (
        ({"event": "end", "outcome": "failed"}, "failed"),
        ({"event": "begin"}, "begun"),
        ({"event": "end", "outcome": "done"}, "done"),
    ):
        run.note(**event)
        assert runs.newest(target).state == state
    assert runs.to_continue(target) is None
    run.note("undo")
    assert runs.to_continue(target).number == 1
    with open(f"{run.path}/journal.jsonl", "a", encoding="utf-8") as stream:
        stream.write('{"event": "und')  # the power went
    assert runs.newest(target).state == "undoing"


def test_a_run_that_was_not_prepared_to_its_end_never_was(target):
    with pytest.raises(RuntimeError), runs.opened(target):
        raise RuntimeError
    assert runs.runs(target) == ()
    assert os.listdir(f"{target.path}/var/lib/hostagent") == []
