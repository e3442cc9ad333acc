"""After a kill of any kind nothing of ours is left: no process, no file, no mount."""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from hostagent.core.deadline import within
from hostagent.core.unread import Unread
from hostagent.domains.packages import read_rpm_copy
from hostagent.engine.collection import InProcess
from hostagent.engine.collector_process import Forked, Place
from hostagent.engine.questions import live_backend
from hostagent.host import copies, leftover
from hostagent.host.programs import run
from hostagent.sandbox import child
from tests.attack import rpmdb, spaces
from tests.children import running, until
from tests.real import rpms

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces, and users to be, need root: run the tests as root"),
]
ROOT = Path(__file__).parents[2]
IMPORTED = (child, copies, pickle, read_rpm_copy, shutil)  # by the time a test becomes an ordinary user
SYS_ADMIN = 21
#: A program whose children have left its group and its session, and whose parent has died.
FAMILY = "setsid sleep {0} & (setsid sh -c 'setsid sleep {0} & exec sleep {0}' & exec true); exec sleep {0}"
#: In a mount and in a command line of this test process alone: others run beside it.
MARK = f"test-{os.getpid()}"
FORM = f"%{{NAME}} {MARK}\\n"
SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
WHO = ["root", "root in a container", "root of a user namespace", "user"]


def become(who):
    """What is imported later may lie where an ordinary user cannot look: the tests' own Python."""
    InProcess(Asking(lambda: Unread("denied")), ["Identity"]).collect()
    if who == "root in a container":
        spaces.drop(SYS_ADMIN)
    if who == "root of a user namespace":
        spaces.become_root_of_few()
    if who == "user":
        spaces.become()


class Asking:
    """A host whose one answer is what a function says."""

    kind = "live"

    def __init__(self, answer):
        self._answer = answer

    def ask(self, method, *arguments):
        return self._answer()


def pass_over(answer, who="root"):
    """The pid of a process that reads that host in a child, as `hostagent check` does, for a minute."""

    def read():
        become(who)
        os.setpgid(0, 0)
        reading = Forked(lambda _: Asking(answer), Place("/", "live"), ["Identity"], within(60))
        reading.start()
        reading.collect()

    return spaces.start(read)


def child_of(pid):
    """The reading child."""
    (child,) = psutil.Process(pid).children()
    return child.pid


def ended(pid):
    """Reap it; a test that waits for a process that lives on hangs."""
    assert until(lambda: os.waitpid(pid, os.WNOHANG) != (0, 0))


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("killed", ["the main process", "the reading child"])
def test_programs_and_all_that_they_started_die_with_their_parent(killed, number, who):
    name = f"{1000 + os.getpid()}.5"
    pid = pass_over(lambda: run(("sh", "-c", FAMILY.format(name)), 100), who)
    assert until(lambda: len(running("sleep", name)) == 4)
    if killed == "the main process":
        os.kill(pid, number)
    else:
        os.kill(child_of(pid), number)
    assert until(lambda: not running("sleep", name)), running("sleep", name)
    if killed == "the reading child":
        assert until(lambda: not psutil.Process(pid).children())
    ended(pid)


def test_a_kill_of_all_of_our_processes_at_once_leaves_none_of_theirs():
    """Root's: an ordinary user has no namespace of process numbers, so what has left its session outlives that."""
    name = f"{1000 + os.getpid()}.5"
    pid = pass_over(lambda: run(("sh", "-c", FAMILY.format(name)), 100))
    assert until(lambda: len(running("sleep", name)) == 4)
    os.killpg(pid, signal.SIGKILL)
    assert until(lambda: not running("sleep", name))
    ended(pid)


@pytest.mark.parametrize("who", WHO)
def test_what_a_program_leaves_when_it_ends_is_ended_too(who):
    name = f"{1000 + os.getpid()}.5"

    def ask():
        become(who)
        assert run(("sh", "-c", f"setsid sleep {name} >/dev/null 2>&1 & sleep 0.2; echo done"), 5)["stdout"] == "done\n"
        assert running("sleep", name) == []

    pid = spaces.start(ask)
    assert os.waitpid(pid, 0)[1] == 0


def mounts():
    """Of processes that see the image of this test: the mounts that we make."""
    found = []
    for path in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            text = path.read_text()
        except OSError:
            continue
        found += [str(path)] * (" - tmpfs hostagent " in text and f" - tmpfs {MARK} " in text)
    return found


def image_with(database):
    """An image, and the directory for temporary files, which everybody may write to: where an ordinary user gets to."""
    spaces.unshare("mount")
    root, temporary = Path("/mnt"), Path("/mnt/tmp")
    spaces.mount(MARK, "/mnt", "tmpfs")
    (root / "var/lib/rpm").mkdir(parents=True)
    (root / "var/lib/rpm/rpmdb.sqlite").write_bytes((database / "rpmdb.sqlite").read_bytes())
    temporary.mkdir()
    temporary.chmod(0o1777)
    tempfile.tempdir = str(temporary)
    return live_backend(str(root), "image", deadline=within(100)), temporary


def ask_rpm(backend):
    return backend.ask("run", "rpm", "--dbpath", "/var/lib/rpm", "-qa", "--queryformat", FORM)


def rpms_of_this_test():
    return running("--queryformat", FORM)


@pytest.mark.parametrize("who", WHO)
def test_whoever_asks_rpm_is_answered_and_leaves_nothing(who, tmp_path):
    backend, temporary = image_with(rpmdb.installed(tmp_path))

    def ask():
        become(who)
        answer = ask_rpm(backend)
        assert set(answer["stdout"].split()) == {name for name, *_ in rpms.RPMS} | {MARK}

    pid = spaces.start(ask)
    assert os.waitpid(pid, 0)[1] == 0
    assert list(temporary.iterdir()) == []
    assert mounts() == []


def of_rpm(who, tmp_path, form="a view that does not end"):
    """A pass over an image whose database keeps rpm busy: its pid, and the directory for temporary files."""
    database = rpmdb.installed(tmp_path)
    rpmdb.change(database, *rpmdb.HEAVY[form])
    backend, temporary = image_with(database)
    pid = pass_over(lambda: ask_rpm(backend), who)
    assert until(rpms_of_this_test)
    return pid, temporary


@pytest.mark.parametrize("who", ["root", "root of a user namespace", "user"])
@pytest.mark.parametrize("number", SIGNALS)
def test_the_copy_that_rpm_reads_is_seen_by_nobody_and_goes_with_it(number, who, tmp_path):
    pid, temporary = of_rpm(who, tmp_path)
    assert list(temporary.iterdir()) == []
    with open("/proc/self/mountinfo", encoding="utf-8") as stream:
        assert " - tmpfs hostagent " not in stream.read()
    assert mounts() != []
    os.kill(pid, number)
    assert until(lambda: not rpms_of_this_test())
    assert until(lambda: not mounts())
    ended(pid)


@pytest.mark.parametrize("number", SIGNALS)
def test_where_there_are_no_namespaces_the_copy_goes_with_the_run_too(number, tmp_path):
    pid, temporary = of_rpm("root in a container", tmp_path)
    (copy,) = temporary.iterdir()
    found = copy.stat()
    assert (found.st_uid, found.st_mode & 0o777) == (0, 0o770)
    assert found.st_gid > 65534, "the group of rpm alone"
    assert mounts() == []
    os.kill(pid, number)
    assert until(lambda: not rpms_of_this_test())
    assert until(lambda: not list(temporary.iterdir()))
    ended(pid)


def test_a_copy_that_a_kill_of_every_process_left_goes_with_the_next_run(tmp_path):
    pid, temporary = of_rpm("root in a container", tmp_path)
    (copy,) = temporary.iterdir()
    leftover.remove_orphans()
    assert copy.exists(), "its owner lives"
    os.killpg(pid, signal.SIGKILL)
    ended(pid)
    assert until(lambda: not rpms_of_this_test())
    assert copy.exists()
    leftover.remove_orphans()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", SIGNALS)
def test_hostagent_check_leaves_no_journalctl(number, tmp_path):
    """The program itself, on a host whose journalctl does not come to an end and whose kernel log may not be read otherwise."""
    spaces.unshare("mount")
    name = f"{1000 + os.getpid()}.5"
    rpmdb.with_program("journalctl", FAMILY.format(name), tmp_path)
    spaces.mount("/dev/null", "/dev/kmsg", "", rpmdb.MS_BIND)
    root = tmp_path / "host"
    root.mkdir()
    spaces.mount("/", str(root), "", rpmdb.MS_BIND | rpmdb.MS_REC)
    argv = [sys.executable, "-m", "hostagent", "check", "--deadline", "60", "--host-root", str(root)]
    refusing = [sys.executable, "-m", "tests.attack.refusing", "syslog"]
    check = subprocess.Popen([*refusing, *argv], stdout=subprocess.DEVNULL, cwd=ROOT)
    assert until(lambda: len(running("sleep", name)) == 4, 20)
    before = time.monotonic()
    check.send_signal(number)
    assert check.wait(10) != 0
    assert until(lambda: not running("sleep", name))
    assert time.monotonic() - before < 8
