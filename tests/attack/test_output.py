"""S10: ``-o`` writes where its caller said and nowhere else, and waits for nobody beyond the deadline."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.attack import spaces

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
NO_GPU = str(Path(__file__).parents[1] / "hosts/no-gpu-vm")
CHECK = [HOSTAGENT, "check", "--profile", "default", "--from", NO_GPU, "--format", "json"]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="another user's files need root: run the tests as root")


def check(*arguments, **options):
    started = time.monotonic()
    done = subprocess.run([*CHECK, *arguments], capture_output=True, text=True, check=False, timeout=60, **options)
    assert "Traceback" not in done.stderr, done.stderr
    return done, time.monotonic() - started


def refused(done, *words):
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("Error: cannot write ")
    assert len(done.stderr.splitlines()) == 1
    assert all(word in done.stderr for word in words), done.stderr


@pytest.fixture
def shared(tmp_path_factory):
    """A directory that everybody may write to, as /tmp is."""
    path = tmp_path_factory.mktemp("shared")
    for parent in (path.parent, path):
        os.chmod(parent, 0o1777)
    return path


@needs_root
def test_a_pipe_of_another_user_is_refused_at_once_though_he_reads_it(shared):
    pipe = shared / "report.json"
    os.mkfifo(pipe)
    os.chown(pipe, spaces.NOBODY, spaces.NOBODY)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    done, took_s = check("-o", str(pipe))
    refused(done, "found a pipe of user 65534, wanted root's or your own")
    assert os.read(reading, 10) == b""
    assert took_s < 10
    os.close(reading)


def test_a_pipe_whose_reader_sleeps_is_waited_for_until_the_deadline_alone(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    done, took_s = check("-o", str(pipe), "--deadline", "2")
    refused(done, "did not take it all in time")
    assert took_s < 2 + 3
    os.close(reading)


def test_a_pipe_with_a_slow_reader_gets_all_of_it(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["/bin/sh", "-c", f"exec <{pipe}; sleep 1.5; exec cat"], stdout=subprocess.PIPE) as reader:
        while True:
            done, _ = check("-o", str(pipe))
            if "no such device or address" not in done.stderr:  # nobody reads yet
                break
        told = reader.stdout.read()
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(told)["verdict"]["single_node"] == "not_ready"


def test_a_pipe_behind_a_link_is_refused_and_a_link_to_one_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    os.mkfifo(tmp_path / "there/pipe")
    (tmp_path / "folder").symlink_to("there")
    (tmp_path / "report").symlink_to("there/pipe")
    reading = os.open(tmp_path / "there/pipe", os.O_RDONLY | os.O_NONBLOCK)
    refused(check("-o", str(tmp_path / "folder/pipe"))[0], "behind a link")
    assert check("-o", str(tmp_path / "report"))[0].returncode == 1
    assert stat.S_ISREG(os.lstat(tmp_path / "report").st_mode)
    assert os.read(reading, 10) == b""
    os.close(reading)


@needs_root
def test_a_link_to_a_device_is_replaced_and_nothing_is_written_into_the_device(tmp_path):
    os.mknod(tmp_path / "watchdog", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    (tmp_path / "report").symlink_to("watchdog")
    assert check("-o", str(tmp_path / "report"))[0].returncode == 1
    assert stat.S_ISREG(os.lstat(tmp_path / "report").st_mode)


@needs_root
def test_a_device_is_written_into_where_it_is_roots_or_is_null(tmp_path):
    device = tmp_path / "device"
    os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # zero takes everything, too
    assert check("-o", str(device))[0].returncode == 1
    os.chown(device, spaces.NOBODY, spaces.NOBODY)
    refused(check("-o", str(device))[0], "a device of user 65534")
    null = tmp_path / "null"
    os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.chown(null, spaces.NOBODY, spaces.NOBODY)  # as root of a user namespace sees the host's
    assert check("-o", str(null))[0].returncode == 1
    assert stat.S_ISCHR(os.lstat(null).st_mode)


@needs_root
def test_what_is_neither_file_nor_stream_is_refused(tmp_path):
    (tmp_path / "directory").mkdir()
    os.mknod(tmp_path / "disk", stat.S_IFBLK | 0o600, os.makedev(7, 200))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for name, word in (("directory", "a directory"), ("disk", "a block device"), ("socket", "a socket")):
            refused(check("-o", str(tmp_path / name))[0], f"found {word}, wanted a file")
    assert sorted(os.listdir(tmp_path)) == ["directory", "disk", "socket"]


@pytest.mark.parametrize("name", ["7", "²", "99999999999999999999", "-1", "stdout"])
def test_a_number_is_the_name_of_a_file(tmp_path, name):
    assert check("-o", name, cwd=tmp_path)[0].returncode == 1
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["7", "3", "²", "99999999999999999999", "", "-1", "1/x", "0x1", "+1", " 1"])
def test_a_descriptor_that_nobody_gave_is_refused(name):
    refused(check("-o", f"/dev/fd/{name}")[0])


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "//dev/stdout", "/dev/../dev/./stdout", "/dev/fd//1"])
def test_standard_output_by_its_names_appends_and_replaces_nothing(tmp_path, name):
    (tmp_path / "log").write_text("before\n")
    before = os.readlink("/dev/stdout")
    with open(tmp_path / "log", "a") as log:
        subprocess.run([*CHECK, "-o", name], stdout=log, check=False, timeout=60)
    assert (tmp_path / "log").read_text().startswith("before\n{")
    assert os.readlink("/dev/stdout") == before


def test_a_descriptor_that_the_caller_opened_is_written_into(tmp_path):
    with open(tmp_path / "report", "wb") as report:
        done = subprocess.run([*CHECK, "-o", f"/dev/fd/{report.fileno()}"], pass_fds=[report.fileno()], check=False, timeout=60)
    assert done.returncode == 1
    assert (tmp_path / "report").read_bytes().startswith(b"{")


@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd", "/dev/nothing-of-that-name"])
def test_nothing_in_dev_is_replaced_or_made(name):
    before = sorted(os.listdir("/dev"))
    refused(check("-o", name)[0], "no device of that name")
    assert sorted(os.listdir("/dev")) == before


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664), (0, 0o666)])
def test_the_umask_holds_for_a_report_and_not_for_a_snapshot(tmp_path, umask, mode):
    check("-o", str(tmp_path / "report"), umask=umask)
    save = [HOSTAGENT, "snapshot", "save", str(tmp_path / "tape"), "--from", NO_GPU]
    subprocess.run(save, check=True, capture_output=True, timeout=60, umask=umask)
    assert [stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in ("report", "tape")] == [mode, 0o600]


SLOW_DISK = """
import os, sys
from hostagent.core.filewrite import deliver
os.fsync = lambda _: (os.write(1, b"x"), __import__("time").sleep(60))
from hostagent.cli.ending import listen
listen()
deliver("x" * 100000, sys.argv[1])
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_kill_in_the_middle_of_the_writing_leaves_nothing(tmp_path, number):
    """On a file system with nameless files, which /dev/shm is."""
    import tempfile

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        argv = [sys.executable, "-c", SLOW_DISK, f"{folder}/report"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
            assert running.stdout.read(1) == b"x"
            running.send_signal(number)
            assert running.wait(10) != 0
        assert os.listdir(folder) == []


NO_NAMELESS = "import os; os.O_TMPFILE = 0\n"  # 0: the open is refused, as on a file system without them


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_so_does_one_where_every_file_has_a_name(tmp_path, number):
    argv = [sys.executable, "-c", NO_NAMELESS + SLOW_DISK, str(tmp_path / "report")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        assert running.stdout.read(1) == b"x"
        assert len(os.listdir(tmp_path)) == 1
        running.send_signal(number)
        assert running.wait(10) != 0
    assert os.listdir(tmp_path) == []


def test_a_file_where_every_file_has_a_name_is_whole_too(tmp_path):
    code = NO_NAMELESS + "import sys; from hostagent.core.filewrite import deliver; deliver('new', sys.argv[1])"
    (tmp_path / "report").write_text("old")
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "report")], check=True, timeout=30)
    assert (os.listdir(tmp_path), (tmp_path / "report").read_text()) == (["report"], "new")


def test_a_full_disk_leaves_the_old_report_and_nothing_else(tmp_path):
    (tmp_path / "report").write_text("old")
    done, _ = check("-o", str(tmp_path / "report"), preexec_fn=_little_space)
    refused(done, "file too large")
    assert (os.listdir(tmp_path), (tmp_path / "report").read_text()) == (["report"], "old")


def _little_space():
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def test_a_name_as_long_as_a_name_may_be(tmp_path):
    name = "é" * 127 + "x"
    assert check("-o", str(tmp_path / name))[0].returncode == 1
    assert os.listdir(tmp_path) == [name]


def test_the_name_of_a_file_cannot_move_the_cursor(tmp_path):
    done, _ = check("-o", str(tmp_path / "no\x1b]0;x\x07\u202e\x9b/x"))
    refused(done)
    assert done.stderr.rstrip("\n").isprintable()
