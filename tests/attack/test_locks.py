"""The lock of a lane: nobody but root can hold it, and who waits for it gets it or says who has it (S4 of the attack on 0.1.0)."""

import contextlib
import fcntl
import os
import shutil
import stat
import time
from pathlib import Path

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.gpu.read_nvidia_worker import NVIDIA
from hostagent.host.paths import Root
from hostagent.host.worker_locks import hold
from hostagent.sandbox.worker import Worker
from hostagent.sandbox.worker_spec import CALL_S
from tests import stub_nvml
from tests.attack.fuse import Mounted
from tests.attack.livehost import enliven
from tests.attack.spaces import NOBODY, end, mount, start, unshare
from tests.real.conftest import need_real

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="device nodes and chroot need root: run the tests as root"),
]

NAME = ("nvml", "device", "0", "name")
FILE = "/run/hostagent/toy.lock"
MODULE = "kernel" if os.path.exists("/sys/module/kernel") else min(os.listdir("/sys/module"))
READ_ONLY = 1
REMOUNT = 32


@pytest.fixture
def run():
    """An empty /run of the test's own."""
    unshare("mount")
    mount("none", "/run", "tmpfs", 0, "mode=755")


@pytest.fixture
def tree(tmp_path):
    need_real("gcc", "apt-get install gcc libc6-dev")
    root = tmp_path / "host"
    root.mkdir()
    return root


def held(seconds=0.5, root="/", module=MODULE):
    return hold("toy", module, Root(root), time.monotonic() + seconds)


@contextlib.contextmanager
def holding(path, kind=fcntl.LOCK_EX, uid=0):
    """Another process holds a lock on `path`, which root opens for it."""
    ready, told = os.pipe()
    descriptor = os.open(path, os.O_RDONLY)

    def run():
        fcntl.flock(descriptor, kind)
        os.write(told, b"x")
        time.sleep(60)

    pid = start(run, uid)
    os.close(descriptor)
    os.close(told)
    assert os.read(ready, 1) == b"x"
    os.close(ready)
    try:
        yield pid
    finally:
        end(pid)


def test_the_lock_is_a_file_that_root_alone_can_open(run):
    assert held() is None
    made = os.lstat(FILE)
    assert (stat.filemode(made.st_mode), made.st_uid) == ("-rw-------", 0)
    assert sorted(os.listdir("/run/hostagent")) == ["toy.lock"]
    assert stat.S_IMODE(os.stat("/run/hostagent").st_mode) == 0o755

    def try_it():
        for flags in (os.O_RDONLY, os.O_RDWR):
            with pytest.raises(PermissionError):
                os.open(FILE, flags)

    _, status = os.waitpid(start(try_it, NOBODY), 0)
    assert status == 0


def test_who_has_it_is_said_when_the_run_ends(run):
    assert held() is None  # this process has it, and goes on having it
    pid = start(lambda: time.sleep(60))
    began = time.monotonic()
    assert held() == Unread("timeout", f"another hostagent's worker (pid {os.getpid()}) is still reading from the toy driver")
    assert 0.15 < time.monotonic() - began < 0.5
    end(pid)


@pytest.mark.parametrize("place", ["/sys/module/{}", "/run/hostagent", "/run"])
@pytest.mark.parametrize("kind", [fcntl.LOCK_EX, fcntl.LOCK_SH])
def test_a_directory_that_an_ordinary_user_locks_keeps_root_from_nothing(run, place, kind):
    os.mkdir("/run/hostagent", 0o755)
    with holding(place.format(MODULE), kind, NOBODY):
        began = time.monotonic()
        assert held() is None
        assert time.monotonic() - began < 0.1


def test_a_setuid_program_that_keeps_a_users_lock_keeps_root_from_nothing(tree):
    """Its process is root's by /proc; the file that it inherited is the user's."""
    su = shutil.which("su")
    if not su or not os.stat(su).st_mode & stat.S_ISUID:
        pytest.skip("no setuid su here: apt-get install login")
    stub_nvml.install(tree, 1)
    silent, _ = os.pipe()
    directory = os.open(tree / "sys/module/nvidia", os.O_RDONLY)
    os.set_inheritable(directory, True)

    def lock():
        fcntl.flock(directory, fcntl.LOCK_EX)
        os.dup2(silent, 0)
        os.execv(su, ["su"])

    pid = start(lock, NOBODY)
    try:
        while b"su" not in Path(f"/proc/{pid}/cmdline").read_bytes() or os.stat(f"/proc/{pid}").st_uid:
            time.sleep(0.01)
        worker = Worker(NVIDIA, str(tree), time.monotonic() + 10)
        worker.start()
        assert worker.ask(*NAME) == "NVIDIA H100 80GB HBM3"
        worker.close()
    finally:
        end(pid)


def test_what_root_of_a_container_can_lock_comes_second(tree):
    """Root in a container on the host's network shares sysfs with the host, and flock needs no right to write."""
    stub_nvml.install(tree, 1)
    enliven(tree)
    (tree / "run").mkdir()
    with holding(tree / "sys/module/nvidia/sections/.text"):
        assert held(root=str(tree), module="nvidia") is None
    assert (tree / "run/hostagent/toy.lock").exists()


def test_where_run_cannot_be_written_the_kernels_own_file_is_locked(tree):
    stub_nvml.install(tree, 1)
    enliven(tree)
    (tree / "run").mkdir()
    mount("none", str(tree / "run"), "tmpfs", READ_ONLY)
    with holding(tree / "sys/module/nvidia/sections/.text") as pid:
        assert f"(pid {pid})" in held(root=str(tree), module="nvidia").detail
    assert held(root=str(tree), module="nvidia") is None
    assert "(pid " in held(root=str(tree), module="nvidia").detail, "it is really held"


def test_a_lock_file_that_can_only_be_read_is_locked_all_the_same(run):
    os.mkdir("/run/hostagent")
    os.close(os.open(FILE, os.O_CREAT, 0o600))
    mount("none", "/run", "tmpfs", READ_ONLY | REMOUNT)
    with holding(FILE) as pid:
        assert f"(pid {pid})" in held().detail
    assert held() is None


def test_without_a_place_for_a_lock_a_worker_goes_without(run):
    mount("none", "/run", "tmpfs", READ_ONLY | REMOUNT)
    assert held() is None
    assert held() is None


def test_without_the_module_nothing_is_locked(run):
    assert held(module="no-such-module") is None
    assert os.listdir("/run") == []


def test_a_made_tree_is_left_as_it_is(tree):
    stub_nvml.install(tree, 1)
    (tree / "run").mkdir()
    with holding(tree / "sys/module/nvidia/sections/.text") as pid:
        assert f"(pid {pid})" in held(root=str(tree), module="nvidia").detail
    shutil.rmtree(tree / "sys/module/nvidia/sections")
    assert held(root=str(tree), module="nvidia") is None
    assert list((tree / "run").iterdir()) == []


def wrong_link():
    os.mkdir("/run/hostagent")
    os.symlink("/run/elsewhere", FILE)


def wrong_mode():
    os.mkdir("/run/hostagent")
    os.close(os.open(FILE, os.O_CREAT, 0o600))
    os.chmod(FILE, 0o644)


def wrong_user():
    os.mkdir("/run/hostagent")
    os.close(os.open(FILE, os.O_CREAT, 0o600))
    os.chown(FILE, NOBODY, NOBODY)


def wrong_kind():
    os.mkdir("/run/hostagent")
    os.mkfifo(FILE, 0o600)


def wrong_directory():
    os.mkdir("/run/hostagent")
    os.chmod("/run/hostagent", 0o777)


def wrong_directory_link():
    os.mkdir("/run/elsewhere")
    os.symlink("/run/elsewhere", "/run/hostagent")


@pytest.mark.parametrize("spoil", [wrong_link, wrong_mode, wrong_user, wrong_kind, wrong_directory, wrong_directory_link])
def test_a_lock_that_somebody_else_could_hold_is_refused(run, spoil):
    spoil()
    answer = held()
    assert answer.why == "error"
    assert "/run/hostagent" in answer.detail
    assert not os.path.exists("/run/elsewhere/toy.lock")
    assert not os.path.isfile("/run/elsewhere")


def test_an_ordinary_user_locks_for_himself_alone(run):
    mine = f"/run/user/{NOBODY}"
    os.makedirs(mine)
    os.chown(mine, NOBODY, NOBODY)
    os.chmod(mine, 0o700)
    ready, told = os.pipe()

    def lock():
        assert held() is None
        os.write(told, b"x")
        time.sleep(60)

    pid = start(lock, NOBODY)
    os.close(told)
    assert os.read(ready, 1) == b"x"
    assert os.listdir(mine) == ["hostagent-toy.lock"]
    assert held() is None, "root waits for nobody"

    def wait():
        assert f"(pid {pid})" in held().detail

    _, status = os.waitpid(start(wait, NOBODY), 0)
    assert status == 0, "but he for himself"
    end(pid)


@pytest.mark.parametrize("mode", [None, 0o755])
def test_an_ordinary_user_without_a_directory_of_his_own_goes_without(run, mode):
    mine = f"/run/user/{NOBODY}"
    if mode:
        os.makedirs(mine)
        os.chown(mine, NOBODY, NOBODY)

    def lock():
        answer = held()
        assert (answer is None) if mode is None else (answer.why == "error")

    _, status = os.waitpid(start(lock, NOBODY), 0)
    assert status == 0


def test_ten_runs_beside_a_slow_driver_all_get_their_answers(tree):
    """One after the other: each would have given up after one second before, all but one of them UNKNOWN."""
    stub_nvml.install(tree, 1, {"Init *": "sleep 0.4"})
    workers = [Worker(NVIDIA, str(tree), time.monotonic() + 20) for _ in range(10)]
    for one in workers:
        one.start()
    try:
        assert [one.ask(*NAME) for one in workers] == ["NVIDIA H100 80GB HBM3"] * 10
    finally:
        for one in workers:
            one.close()


def test_one_that_was_killed_and_hangs_in_the_kernel_is_waited_for_no_longer_than_a_call(tree):
    """State D alone says nothing: NVIDIA's driver waits so in every honest start."""
    stub_nvml.install(tree, 1)
    unshare("mount")
    hanging = Mounted(str(tree / "proc/driver/nvidia"))
    first = Worker(NVIDIA, str(tree), time.monotonic() + 20)
    first.start()
    pid = first.pid
    hanging.take_one()
    assert first.ask("list", "/proc/driver/nvidia").why == "timeout"
    first.close()
    second = Worker(NVIDIA, str(tree), time.monotonic() + 20)
    second.start()
    began = time.monotonic()
    assert second.ask(*NAME) == Unread("timeout", f"another hostagent's worker (pid {pid}) hangs in the nvidia driver")
    assert time.monotonic() - began < 2 * CALL_S
    second.close()
    hanging.close()
    os.waitpid(pid, 0)
    third = Worker(NVIDIA, str(tree), time.monotonic() + 20)
    third.start()
    assert third.ask("list", "/proc/driver/nvidia").why != "timeout", "the kernel has let it die, and with it the lock"
    third.close()


def test_a_lock_in_another_file_system_with_that_number_is_another_one(run):
    """A user may hold one on any file of his; a number is unique in its file system alone."""
    assert held() is None
    os.mkdir("/run/mine")
    mount("none", "/run/mine", "tmpfs", 0, "mode=777")
    number = os.stat(FILE).st_ino
    for at in range(2 * number + 8):
        path = f"/run/mine/{at}"
        os.close(os.open(path, os.O_CREAT, 0o666))
        if os.stat(path).st_ino == number:
            break
    else:
        pytest.fail("no file with that number")
    with holding(path, uid=NOBODY) as pid:
        assert str(pid) not in held().detail
        assert f"(pid {os.getpid()})" in held().detail
