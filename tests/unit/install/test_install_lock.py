"""The lock of a target, and the runs that it remembers."""

import contextlib
import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hostagent.core.errors import HostagentError
from hostagent.engine.target import Evidence
from hostagent.install import remembered, runs
from hostagent.install.lock import VARIABLE, Busy, leftover_processes, take
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


def test_a_folder_that_another_first_run_made_meanwhile_is_its_own(target, monkeypatch):
    make = os.mkdir

    def after_another(path, mode):
        make(path, mode)
        make(path, mode)

    monkeypatch.setattr(os, "mkdir", after_another)
    take(target, 0, make=True).close(changed=False)
    assert os.listdir(f"{target.path}/var/lib") == ["hostagent"]
    assert os.listdir(f"{target.path}/var/lib/hostagent") == []


def test_folders_that_another_first_run_removes_meanwhile_are_made_again(target, monkeypatch):
    make, removed = os.mkdir, []

    def beside_another(path, mode):
        if not removed:
            removed.append(os.rmdir(f"{target.path}/var/lib"))
        make(path, mode)

    monkeypatch.setattr(os, "mkdir", beside_another)
    take(target, 0, make=True).close(changed=False)
    assert os.listdir(f"{target.path}/var") == []


def test_where_no_folder_can_stay_nothing_is_tried_for_ever(target, monkeypatch):
    def make(path, mode):
        raise FileNotFoundError(errno.ENOENT, "as below /proc", path)

    monkeypatch.setattr(os, "mkdir", make)
    with pytest.raises(HostagentError, match=r"/var/lib/hostagent: found no directory that stays, wanted one"):
        take(target, 0, make=True)


def test_a_directory_that_comes_while_a_path_is_resolved_is_no_link(target, monkeypatch):
    place, resolve = f"{target.path}/var/lib/hostagent", target.root.realpath

    def resolved(path):
        if path == "/var/lib":
            os.mkdir(place)
        return resolve(path)

    monkeypatch.setattr(target.root, "realpath", resolved)
    assert runs.folder(target) == place


def test_four_first_runs_at_once_do_not_stand_in_each_others_way(target):
    """Each makes the folder and removes it again; one in which another's lock was meanwhile goes, too, so that the next round has it to make."""
    ours, theirs = os.pipe()
    for _ in range(4):
        if os.fork() == 0:
            for _ in range(100):
                try:
                    take(target, 30, make=True).close(changed=False)
                    with contextlib.suppress(OSError):
                        os.rmdir(f"{target.path}/var/lib/hostagent")
                except BaseException as error:
                    os.write(theirs, f"{error!r}\n".encode())
            os._exit(0)
    os.close(theirs)
    with open(ours) as said:
        assert said.read() == ""
    for _ in range(4):
        os.wait()


def test_a_lock_that_others_may_write_is_refused(target):
    take(target, 0, make=True).close(changed=True)
    os.chmod(f"{target.path}/var/lib/hostagent/lock", 0o666)
    with pytest.raises(HostagentError, match=r"found lock with -rw-rw-rw-.*, wanted a file that is user \d+'s alone"):
        take(target, 0, make=True)


SLEEP = [sys.executable, "-c", "import time; print('x', flush=True); time.sleep(30)"]


def begun(target):
    """A run of it that did not end."""
    take(target, 0, make=True).close(changed=True)
    with runs.opened(target) as run:
        runs.begin(run)
    return run


@contextlib.contextmanager
def at_work(said, **streams):
    """A program with that in its environment, which has begun."""
    with subprocess.Popen(SLEEP, env={**os.environ, VARIABLE: said}, stdout=subprocess.PIPE, **streams) as program:
        program.stdout.read(1)
        yield program
        program.kill()


def test_what_an_ended_run_left_at_work_is_waited_for_and_a_service_is_not(target):
    token = begun(target).new_token()
    with at_work(token) as program:
        assert leftover_processes(target) == (program.pid,)
        with pytest.raises(Busy, match=rf"left programs that still work: python\S* \(pid {program.pid}\)"):
            take(target, 0, make=True)
    null = subprocess.DEVNULL
    with subprocess.Popen(SLEEP, env={**os.environ, VARIABLE: token}, stdin=null, stdout=null, stderr=null) as service:
        assert leftover_processes(target) == ()
        service.kill()


def test_a_program_of_another_run_or_of_none_is_not_waited_for(target):
    run = begun(target)
    old = run.new_token()
    new = run.new_token()
    assert (len(new), stat.S_IMODE(os.stat(f"{run.path}/{runs.TOKEN}").st_mode)) == (32, 0o600)
    for said in (old, "", f"{target.id}:1", f"{target.id}:1:", f"{target.id}:1:{old}", new[:-1], f"{new} ", "0" * 32):
        with at_work(said):
            assert leftover_processes(target) == (), said


@pytest.mark.parametrize("text", ["", "{", '""', "[]", '"short"', "1"])
def test_a_token_that_is_damaged_or_not_there_is_nobodys(target, text):
    run = begun(target)
    with at_work(""), at_work("short"), at_work(run.new_token()):
        (Path(run.path) / runs.TOKEN).write_text(text)
        assert leftover_processes(target) == ()
        run.forget(runs.TOKEN)
        assert leftover_processes(target) == ()


def test_the_state_of_a_run_is_what_its_journal_says_last(target):
    with runs.opened(target) as run:
        packages = {
            f"{name}:amd64": {"name": name, "version": "1", "state": "installed", "held": name == "a", "automatic": False} for name in "ab"
        }
        run.save("before.json", {"packages": packages, "files": {}})
        rest = {"do": [], "undo": {"kind": "none", "do": []}}
        run.save("plan.json", {"steps": [{"id": "driver.hold", "state": "to-do", **rest}, {"id": "driver.load", "state": "done", **rest}]})
        runs.begin(run)
    assert (run.number, runs.newest(target).state) == (1, "begun")
    assert remembered.unfinished(target.place) == (("driver.hold",), ("a",))
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
