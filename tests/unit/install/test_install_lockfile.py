"""The lock on a file that nobody else can open."""

import contextlib
import fcntl
import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from hostagent.core import lockfile
from hostagent.core.smallfile import NotOwnError
from tests.children import until

HOLDER = "import fcntl, sys, time\nfile = open(sys.argv[1])\nfcntl.flock(file, fcntl.LOCK_EX)\nprint(1, flush=True)\ntime.sleep(60)"


def take(path, seconds=0.0, **more):
    return lockfile.take(str(path), time.monotonic() + seconds, **more)


@pytest.fixture
def held(tmp_path):
    """A lock that another process has, and that process."""
    path = tmp_path / "lock"
    os.close(take(path).descriptor)
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield path, process
        process.kill()


def test_it_is_made_for_its_user_alone_and_another_one_comes_once_it_is_free(tmp_path):
    before = os.umask(0)
    try:
        one = take(tmp_path / "lock")
    finally:
        os.umask(before)
    assert (one.created, one.waited, stat.filemode(os.stat(tmp_path / "lock").st_mode)) == (True, False, "-rw-------")
    with pytest.raises(lockfile.LockTimeoutError):
        take(tmp_path / "lock")
    os.close(one.descriptor)
    again = take(tmp_path / "lock", make=False)
    assert again[1:] == (False, False)
    os.close(again.descriptor)
    with pytest.raises(FileNotFoundError):
        take(tmp_path / "another", make=False)


def test_the_time_is_kept_and_who_has_it_is_named(held):
    path, process = held
    began = time.monotonic()
    with pytest.raises(lockfile.LockTimeoutError, match=rf"^python\S* \(pid {process.pid}\)$"):
        take(path, 0.3)
    assert 0.3 <= time.monotonic() - began < 0.6


def test_where_who_took_it_has_ended_the_one_that_inherited_it_is_named(tmp_path):
    take_it = "import os, sys, time; from hostagent.core import lockfile; lockfile.take(sys.argv[1], 0)\npid = os.fork()\nif pid: print(pid, flush=True)"
    code = f"{take_it}\nelse: os.close(1); os.close(2); time.sleep(60)"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "lock"], capture_output=True, text=True, check=True)
    heir = int(done.stdout)
    try:
        with pytest.raises(lockfile.LockTimeoutError, match=rf"^python\S* \(pid {heir}\)$"):
            take(tmp_path / "lock")
    finally:
        os.kill(heir, signal.SIGKILL)


def test_who_waits_may_give_up_before(held):
    descriptor, _ = lockfile.open_private(str(held[0]))
    began = time.monotonic()
    assert not lockfile.acquire(descriptor, began + 60, lambda: time.monotonic() > began + 0.3)
    assert time.monotonic() - began < 2
    os.close(descriptor)


def test_once_its_holder_has_ended_it_is_had_however_he_ended(held):
    path, process = held
    process.kill()
    one = take(path, 5)
    assert not one.created
    os.close(one.descriptor)


def has_open(pid, path):
    listed = f"/proc/{pid}/fd"
    with contextlib.suppress(FileNotFoundError):  # it closes some, too
        return str(path) in {os.readlink(f"{listed}/{number}") for number in os.listdir(listed)}
    return False


def test_where_the_holder_removed_it_the_one_that_is_there_then_is_locked(tmp_path):
    first = take(tmp_path / "lock")
    ready, writer = os.pipe()
    if (pid := os.fork()) == 0:
        code = 1
        try:
            os.close(first.descriptor)
            os.write(writer, b".")
            second = take(tmp_path / "lock", 5)
            code = 0 if second.created and second.waited and lockfile.is_at(second.descriptor, str(tmp_path / "lock")) else 2
        finally:
            os._exit(code)
    os.read(ready, 1)
    os.close(ready)
    os.close(writer)
    assert until(lambda: has_open(pid, tmp_path / "lock"))
    time.sleep(0.2)  # from there to the lock
    lockfile.remove(first.descriptor, str(tmp_path / "lock"))
    lockfile.remove(first.descriptor, str(tmp_path / "lock"))
    os.close(first.descriptor)
    assert os.waitpid(pid, 0)[1] == 0


def test_what_another_one_has_put_there_is_not_removed(tmp_path):
    one = take(tmp_path / "lock")
    os.rename(tmp_path / "lock", tmp_path / "old")
    (tmp_path / "lock").touch()
    lockfile.remove(one.descriptor, str(tmp_path / "lock"))
    assert sorted(os.listdir(tmp_path)) == ["lock", "old"]
    os.close(one.descriptor)


SPOILT = {
    "a link": lambda path: path.symlink_to("/etc/hostname"),
    "a link to nowhere": lambda path: path.symlink_to("nowhere"),
    "a folder": lambda path: path.mkdir(0o700),
    "a pipe": lambda path: os.mkfifo(path, 0o600),
    "a file that others read": lambda path: (path.touch(), path.chmod(0o644)),
    "a file that a group reads": lambda path: (path.touch(), path.chmod(0o640)),
}


@pytest.mark.parametrize("what", SPOILT)
def test_what_others_could_lock_is_refused_and_left(what, tmp_path):
    SPOILT[what](tmp_path / "lock")
    before = os.lstat(tmp_path / "lock")
    opened = len(os.listdir("/proc/self/fd"))
    with pytest.raises(NotOwnError, match=r"^\[Errno \d+\] found lock.* wanted a file"):
        take(tmp_path / "lock")
    assert os.lstat(tmp_path / "lock").st_mode == before.st_mode
    assert os.listdir(tmp_path) == ["lock"]
    assert len(os.listdir("/proc/self/fd")) == opened


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file away")
def test_another_users_file_is_refused(tmp_path):
    (tmp_path / "lock").touch(0o600)
    os.chown(tmp_path / "lock", 65534, 65534)
    with pytest.raises(NotOwnError, match="of user 65534, wanted a file that is user 0's alone"):
        take(tmp_path / "lock")


def test_a_file_system_without_locks_gets_no_file(tmp_path, monkeypatch):
    def refuses(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuses)
    with pytest.raises(OSError, match="No locks"):
        take(tmp_path / "lock")
    assert os.listdir(tmp_path) == []
