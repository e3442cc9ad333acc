"""hostagent in the place of TAO's script: whatever stands there, and wherever a call fails or is killed."""

import errno
import hashlib
import os
import signal
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import hostagent
from hostagent.core.errors import HostagentError
from hostagent.install import ourselves
from hostagent.install.bank import NEW, OLD
from hostagent.install.shims import LOCK, remove_shims, write_shims
from hostagent.setup.shimtext import FOLDERS, KEPT, NAME, recognised

pytestmark = pytest.mark.alone
run = partial(subprocess.run, check=False)
THEIRS = b"#!/bin/bash\necho upstream\n"
#: What a bank may have before.
BANKS = {
    "empty": {},
    "today": {f"{FOLDERS[2]}/{NAME}": THEIRS, f"{FOLDERS[2]}/tests/test.py": b"", "skills/README.md": b""},
    "older": {f"{FOLDERS[0]}/{NAME}": THEIRS, f"{FOLDERS[1]}/{NAME}": b"#!/bin/bash\n", "platform/x": b""},
    "kept before": {f"{FOLDERS[2]}/{KEPT}": b"somebody's"},
    "half a folder": {"skills/platform/tao-setup-nvidia-gpu-host/SKILL.md": b"", "skills/platform/empty/": b""},
}


def _bank(place, files):
    place.mkdir()
    for name, data in files.items():
        path = place / name
        if name.endswith("/"):
            path.mkdir(parents=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o640)
    return place


def _tree(place):
    """Everything but times and inodes."""
    found = {}
    for path in sorted(place.rglob("*")):
        at = path.lstat()
        text = path.read_bytes() if stat.S_ISREG(at.st_mode) else os.readlink(path) if stat.S_ISLNK(at.st_mode) else b""
        found[str(path.relative_to(place))] = (oct(at.st_mode), at.st_uid, at.st_gid, at.st_nlink if text else 0, text)
    return found


@pytest.fixture(params=BANKS)
def bank(request, tmp_path):
    return _bank(tmp_path / "a bank of 'quotes' \"and\"\nlines", BANKS[request.param])


def _shims(bank):
    return [bank / folder / NAME for folder in FOLDERS]


def test_three_executable_files_are_written_and_taken_away_without_a_trace(bank):
    before = _tree(bank)
    written = write_shims(str(bank), exact=False)
    assert [one.path for one in written] == list(map(str, _shims(bank)))
    for one in _shims(bank):
        assert stat.S_IMODE(one.lstat().st_mode) == 0o755
        assert recognised(one.read_bytes())
        assert run(["bash", "-n", one]).returncode == 0
    assert [one.kept for one in written] == [f"{folder}/{NAME}" in before for folder in FOLDERS]
    assert [one.path for one in remove_shims(str(bank))] == list(map(str, _shims(bank)))
    assert _tree(bank) == before
    assert remove_shims(str(bank)) == ()


def test_a_second_shim_takes_the_place_of_the_first_and_knows_what_was_there_before(bank):
    before = _tree(bank)
    write_shims(str(bank), exact=False)
    once = _tree(bank)
    write_shims(str(bank), exact=True)
    assert {path for path, one in _tree(bank).items() if one != once[path]} == {f"{folder}/{NAME}" for folder in FOLDERS}
    assert all(b"setup --exact" in one.read_bytes() for one in _shims(bank))
    write_shims(str(bank), exact=False)
    assert _tree(bank) == once
    remove_shims(str(bank))
    assert _tree(bank) == before


@pytest.mark.parametrize("umask", [0o077, 0o000])
def test_everybody_can_call_it_whatever_the_umask(umask, tmp_path):
    bank, usual = _bank(tmp_path / "bank", {}), os.umask(umask)
    try:
        write_shims(str(bank), exact=False)
    finally:
        os.umask(usual)
    assert {oct(stat.S_IMODE(one.stat().st_mode)) for one in bank.rglob("*")} == {"0o755"}


#: Path, and what is there: where a link leads ({other} is outside the bank), or what makes it.
IN_THE_WAY = {
    "a link to a folder": {"skills/platform": "{other}"},
    "a link to a folder of the bank": {"skills/tao-setup-nvidia-gpu-host": "platform"},
    "a link as the script": {f"{FOLDERS[2]}/{NAME}": "{other}/script"},
    "a dangling link as the script": {f"{FOLDERS[1]}/{NAME}": "nowhere"},
    "a link as what is kept": {f"{FOLDERS[2]}/{KEPT}": "{other}/script"},
    "a file as a folder": {"platform": Path.touch},
    "a folder as the script": {f"{FOLDERS[1]}/{NAME}": Path.mkdir},
    "a pipe as the script": {f"{FOLDERS[1]}/{NAME}": os.mkfifo},
    "two scripts of others": {f"{FOLDERS[2]}/{NAME}": Path.touch, f"{FOLDERS[2]}/{KEPT}": Path.touch},
}


@pytest.mark.parametrize("what", IN_THE_WAY)
def test_what_is_in_the_way_is_named_and_nothing_is_written(what, tmp_path):
    bank, other = _bank(tmp_path / "bank", {}), _bank(tmp_path / "other", {"script": THEIRS})
    for name, there in IN_THE_WAY[what].items():
        (bank / name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(there, str):
            (bank / name).symlink_to(there.format(other=other))
        else:
            there(bank / name)
    before = _tree(bank), _tree(other)
    with pytest.raises(HostagentError, match=r"found .*(skills|platform)"):
        write_shims(str(bank), exact=False)
    assert remove_shims(str(bank)) == ()
    assert (_tree(bank), _tree(other)) == before


def test_no_bank_is_named(tmp_path):
    for act in (remove_shims, lambda name: write_shims(name, exact=False)):
        with pytest.raises(HostagentError, match=r"cannot open .*/nowhere: no such file or directory, wanted the root of a skill bank"):
            act(str(tmp_path / "nowhere"))
    assert list(tmp_path.iterdir()) == []


def test_a_shim_that_somebody_changed_is_theirs(tmp_path):
    bank = _bank(tmp_path / "bank", {})
    write_shims(str(bank), exact=False)
    changed = _shims(bank)[1]
    changed.write_bytes(changed.read_bytes() + b"# mine\n")
    mine = changed.read_bytes()
    assert [one.path for one in remove_shims(str(bank))] == [str(_shims(bank)[0]), str(_shims(bank)[2])]
    assert changed.read_bytes() == mine
    write_shims(str(bank), exact=False)
    assert changed.with_name(KEPT).read_bytes() == mine


def test_a_script_that_was_updated_over_the_shim_is_not_lost(tmp_path):
    bank = _bank(tmp_path / "bank", BANKS["today"])
    write_shims(str(bank), exact=False)
    _shims(bank)[2].write_bytes(b"newer")
    before = _tree(bank)
    with pytest.raises(HostagentError, match="never overwritten"):
        write_shims(str(bank), exact=False)
    assert _tree(bank) == before


def test_what_was_kept_may_have_gone(tmp_path):
    bank = _bank(tmp_path / "bank", BANKS["today"])
    write_shims(str(bank), exact=False)
    (bank / FOLDERS[2] / KEPT).unlink()
    assert [one.kept for one in remove_shims(str(bank))] == [False, False, False]
    assert not _shims(bank)[2].exists()


#: What Python announces before it does it.
CHANGES = {"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.chmod"}


def _kill(_):
    os.kill(os.getpid(), signal.SIGKILL)


def _fail(name):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)


def _act(act, bank, number, happens):
    """The status of a child to which that happens at its step of this number; 0 without such a step."""
    if pid := os.fork():
        return os.waitpid(pid, 0)[1]
    count = [0]

    def hear(name, words):
        if name in CHANGES or (name == "open" and words[2] & os.O_CREAT and not str(words[0]).endswith(LOCK)):
            count[0] += 1
            if count[0] == number:
                happens(name)

    sys.addaudithook(hear)
    try:
        act(str(bank))
    finally:
        os._exit(int(count[0] >= number))


def _each_step(tmp_path, files, act, happens, *, shims=False):
    """The bank after each step at which that happens, until there is no such step."""
    status, number = -1, 0
    while status:
        number += 1
        bank = _bank(tmp_path / f"{happens.__name__} {number}", files)
        if shims:
            write_shims(str(bank), exact=False)
        status = _act(act, bank, number, happens)
        yield number, bank
    assert number > 4, "a step of each place, and an end"


def _write(bank):
    return write_shims(bank, exact=True)


def _files(bank):
    return {str(one.relative_to(bank)): hashlib.sha256(one.read_bytes()).digest() for one in bank.rglob("*") if one.is_file()}


@pytest.mark.parametrize("name", BANKS)
def test_a_failure_at_any_step_leaves_the_bank_as_it_was(name, tmp_path):
    before = _tree(_bank(tmp_path / "before", BANKS[name]))
    for number, bank in _each_step(tmp_path, BANKS[name], _write, _fail):
        if not all(map(Path.exists, _shims(bank))):
            assert _tree(bank) == before, f"failed at step {number}"


@pytest.mark.parametrize("first", ["write", "remove"])
@pytest.mark.parametrize("name", ["empty", "today", "older"])
def test_a_kill_at_any_step_leaves_each_place_whole_and_the_next_call_finishes(name, first, tmp_path):
    before = _files(_bank(tmp_path / "before", BANKS[name]))
    for number, bank in _each_step(tmp_path, BANKS[name], _write if first == "write" else remove_shims, _kill, shims=first == "remove"):
        for one in _shims(bank):
            was = f"{one.relative_to(bank)}" in before
            assert not was or one.exists(), f"killed at step {number}"
            assert not one.exists() or recognised(one.read_bytes()) or (was and one.stat().st_mode & 0o777 == 0o640)
        if number % 2:
            write_shims(str(bank), exact=True)
            assert all(recognised(one.read_bytes()) for one in _shims(bank)), f"killed at step {number}"
        remove_shims(str(bank))
        assert _files(bank) == before, f"killed at step {number}"


@pytest.mark.parametrize("act", [_write, remove_shims])
def test_what_a_killed_call_of_0_1_0_left_is_removed(act, tmp_path):
    """It gave an older shim a second name, and exchanged the places one by one."""
    theirs, half = {f"{FOLDERS[0]}/{NAME}": THEIRS, f"{FOLDERS[1]}/{NAME}": THEIRS}, b"#!/usr/bin/env bash\n# host"
    bank = _bank(tmp_path / "bank", theirs)
    before = _files(bank)
    write_shims(str(bank), exact=False)
    older = [one.read_bytes() for one in _shims(bank)]
    for one, text in zip(_shims(bank), older, strict=True):
        os.link(one, one.with_name(OLD))
        one.with_name(NEW).write_bytes(text)
    os.rename(_shims(bank)[0].with_name(NEW), _shims(bank)[0])
    os.rename(_shims(bank)[1].with_name(KEPT), _shims(bank)[1])
    os.link(_shims(bank)[1], _shims(bank)[1].with_name(KEPT))
    _shims(bank)[2].unlink()
    _shims(bank)[2].with_name(NEW).write_bytes(half)
    (bank / LOCK).touch(0o600)
    act(str(bank))
    assert [path.name for path in bank.rglob(".*")] == []
    remove_shims(str(bank))
    assert _files(bank) == before


def test_writers_at_the_same_time_wait_for_each_other(tmp_path):
    bank = _bank(tmp_path / "bank", BANKS["today"])
    pids = []
    for _ in range(4):
        if (pid := os.fork()) == 0:
            try:
                write_shims(str(bank), exact=False)
                os._exit(0)
            finally:
                os._exit(1)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
    remove_shims(str(bank))
    assert {path.name for path in bank.rglob("*") if path.is_file()} == {NAME, "test.py", "README.md"}


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_place_where_the_user_may_not_write_stops_it_before_the_first_change(tmp_path):
    bank = _bank(tmp_path / "bank", {})
    for folder in FOLDERS:
        (bank / folder).mkdir(parents=True)
        os.chown(bank / folder, *((0, 0) if folder == FOLDERS[2] else (4321, 4321)))
    for one in (tmp_path, *tmp_path.parents):
        if one.stat().st_uid == 0 and str(one).startswith("/tmp/pytest"):
            one.chmod(0o755)
    before, pid = _tree(bank), os.fork()
    if pid == 0:
        os.setresuid(4321, 4321, 4321)
        try:
            write_shims(str(bank), exact=False)
        except HostagentError as error:
            os._exit(3 if "permission denied" in error.message and FOLDERS[2] in error.message else 4)
        finally:
            os._exit(5)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    assert _tree(bank) == before


ARGUMENTS = ["--backend", "a b", "it's", 'a "b" $HOME `id` \\', "new\nline\n", "", "*", "-n", "\udcff"]
CALLS = {
    "an empty environment": (["env", "-i", "bash"], "/"),
    "as a program": ([], "/"),
    "set -u": (["bash", "-u"], "/"),
    "set -e": (["bash", "-e"], "/"),
    "posix": (["bash", "--posix"], "/"),
    "another module called click": (["bash"], "here"),
}


@pytest.fixture
def told(tmp_path, monkeypatch):
    """A Python in the place of ours that says its arguments, and a bank with a shim of it."""
    said, python = tmp_path / "said", tmp_path / "a 'python' \"of\"\n$(touch x) \udcfe"
    python.write_text(f"#!/bin/bash\nprintf '%s\\0' \"$@\" > {said}\nexit 7\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    bank = _bank(tmp_path / "bank", {})
    write_shims(str(bank), exact=False)
    return said, python, bank


@pytest.mark.parametrize("how", CALLS)
def test_arguments_arrive_as_they_are_from_wherever_it_was_copied(how, told, tmp_path):
    said, _, bank = told
    here = tmp_path / "here"
    here.mkdir()
    (here / "click.py").write_text("raise SystemExit(9)")
    copy = here / "copy of it.sh"
    copy.write_bytes(_shims(bank)[1].read_bytes())
    copy.chmod(0o755)
    (prefix, folder) = CALLS[how]
    done = run([*prefix, copy, *ARGUMENTS], cwd=here if folder == "here" else folder, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"", b"")
    arguments = [os.fsdecode(one) for one in said.read_bytes().split(b"\0")[:-1]]
    assert arguments == [*ourselves.words()[1:], "setup", *ARGUMENTS]


def test_exact_is_passed_on_in_front(told):
    said, _, bank = told
    write_shims(str(bank), exact=True)
    run(["bash", _shims(bank)[0], "--check-only"])
    assert said.read_bytes().split(b"\0")[4:-1] == [b"setup", b"--exact", b"--check-only"]


@pytest.mark.parametrize("how", ["no python", "a folder", "not executable"])
def test_once_hostagent_has_gone_one_sentence_says_so(how, told):
    _, python, bank = told
    python.unlink() if how != "not executable" else python.chmod(0o644)
    if how == "a folder":
        python.mkdir()
    done = run(["env", "-i", "bash", _shims(bank)[2], "--check-only"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{ourselves.gone()}\n"


def _elsewhere(place, code):
    """An interpreter whose hostagent is `code`, as PYTHONPATH brings it."""
    (place / "hostagent/cli").mkdir(parents=True)
    for name, text in {"__init__.py": "", "cli/__init__.py": "", "cli/run.py": "", "__main__.py": code}.items():
        (place / "hostagent" / name).write_text(text)


def test_a_hostagent_that_was_uninstalled_says_the_same_and_one_on_pythonpath_is_found_again(tmp_path, monkeypatch):
    place = tmp_path / "a place's\nown"
    _elsewhere(place, "import sys\ndef main():\n  print(sys.argv[1:])\n  sys.exit(6)")
    monkeypatch.setenv("PYTHONPATH", f"{place}:relative:")
    monkeypatch.setattr(sys, "path", [str(place), *sys.path])
    monkeypatch.setattr(hostagent, "__file__", str(place / "hostagent/__init__.py"))
    bank = _bank(tmp_path / "bank", {})
    write_shims(str(bank), exact=False)
    call = ["env", "-i", "bash", _shims(bank)[0], "x y"]
    done = run(call, capture_output=True, text=True, cwd="/")
    assert (done.returncode, done.stdout, done.stderr) == (6, "['setup', 'x y']\n", "")
    (place / "hostagent/cli/run.py").unlink()
    done = run(call, capture_output=True, text=True, cwd="/")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 2  # of the place's name, which has a line feed, and its own
    assert str(place) in done.stderr


def test_our_own_words_start_this_hostagent():
    done = run([*ourselves.words(), "--version"], capture_output=True, text=True, cwd="/", env={})
    assert (done.returncode, done.stdout.split()[0], done.stderr) == (0, "hostagent", "")
