"""An ordinary user who forges every mark by which a run knows its own programs, and takes every lock that he can open: he stops nobody."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hostagent.daemon import statedir
from hostagent.engine.report import daemon_lock
from hostagent.engine.target import Evidence
from hostagent.host import leftover
from hostagent.host.paths import Root
from hostagent.host.worker_locks import hold
from hostagent.install import runs
from hostagent.install.lock import VARIABLE, Busy, take
from hostagent.install.shims import write_shims
from hostagent.install.target import Target
from hostagent.install.worker import Worker
from tests.attack.spaces import NOBODY, end, mount, start, unshare
from tests.real.conftest import need_real

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="other users' processes need root: run the tests as root"),
]

MODULE = "kernel" if os.path.exists("/sys/module/kernel") else min(os.listdir("/sys/module"))
BOOT_ID = "7d3f6a52-41c8-4b1e-9d55-0c2a8e6f9b13"
XID = "6,5,5000000,-;NVRM: Xid (PCI:0000:1b:00): 79, pid=4, GPU has fallen off the bus.\n"
PLACES = ("/run", "/mnt")
SLEEP = shutil.which("sleep")
#: Seconds in which what nobody disturbs is done; a program takes longer to start.
SOON_S, PROGRAM_S = 0.5, 20.0


@pytest.fixture
def target(tmp_path):
    """A host whose run 1 was killed."""
    (tmp_path / "host/var/lib").mkdir(parents=True)
    (tmp_path / "host/usr/sbin").mkdir(parents=True)
    found = Target(Evidence(host_root=str(tmp_path / "host")))
    take(found, 0, make=True).close(changed=True)
    with runs.opened(found) as run:
        runs.begin(run)
    return found


def everybodys():
    """An empty folder that everybody can reach, and a /run, both this process's own: pytest's folders are closed again by the next one."""
    unshare("mount")
    for place in PLACES:
        mount("none", place, "tmpfs", 0, "mode=755")
    return Path("/mnt")


def token_of(target):
    """Of its run; a made-up one where runs have none."""
    run = runs.newest(target)
    return run.new_token() if hasattr(run, "new_token") else "0" * 32


def guesses(target):
    """What anybody can know: how it is written, the host, the number of the run."""
    token_of(target)
    return ["", "1", f"{target.id}:", f"{target.id}:1", f"{target.id}:1:", f"{target.id}:1:{'0' * 32}", "0" * 32, "token.json", "\n"]


@contextlib.contextmanager
def saying(said, program=SLEEP, words=("60",), user=NOBODY):
    """A program of that user with the variable, which writes into a pipe as those of a run do."""
    ours, theirs = os.pipe()
    silent, kept = os.pipe()
    process = subprocess.Popen(
        [program, *words], env={VARIABLE: said, "PATH": "/usr/bin:/bin"}, stdin=silent, stdout=theirs, stderr=theirs, user=user, group=user
    )
    for one in (silent, theirs):
        os.close(one)
    try:
        while Path(f"/proc/{process.pid}/exe").resolve() != Path(program).resolve():
            time.sleep(0.01)
        yield process.pid
    finally:
        process.kill()
        process.wait()
        os.close(kept)
        os.close(ours)


def goes_on(target):
    """The next run has the lock at once."""
    began = time.monotonic()
    take(target, 0.2, make=True).close(changed=True)
    assert time.monotonic() - began < SOON_S


def test_a_users_program_that_says_it_is_of_a_run_stops_no_run(target):
    for said in guesses(target):
        with saying(said):
            goes_on(target)


def test_a_users_setuid_program_that_says_so_stops_no_run(target):
    """By its process it is root's, its environment is the user's."""
    su = shutil.which("su")
    if not su or not os.stat(su).st_mode & stat.S_ISUID:
        pytest.skip("no setuid su here: apt-get install login")
    for said in (f"{target.id}:1", token_of(target)):
        with saying(said, su, ()) as pid:
            assert f"Uid:\t{NOBODY}\t0\t" in Path(f"/proc/{pid}/status").read_text()
            goes_on(target)


def test_who_was_a_user_of_a_run_and_kept_its_token_stops_no_run(target):
    """As the user of a package manager's downloads, or of a service, who can read what his own process was started with."""
    with saying(token_of(target)):
        goes_on(target)


def test_the_same_with_a_setuid_program_that_is_root_alone_while_it_waits(target):
    """As sudo is while it asks for the password."""
    need_real("gcc", "apt-get install gcc libc6-dev")
    program = everybodys() / "asks"
    code = b"#define _GNU_SOURCE\n#include <unistd.h>\nint main(){char c;setresuid(0,0,0);write(1,&c,1);return read(0,&c,1);}"
    subprocess.run(["gcc", "-x", "c", "-", "-o", program], input=code, check=True)
    program.chmod(0o4755)
    for said in (f"{target.id}:1", token_of(target)):
        with saying(said, str(program), ()) as pid:
            while "Uid:\t0\t0\t0\t0" not in Path(f"/proc/{pid}/status").read_text():
                time.sleep(0.01)
            goes_on(target)


def killed(target):
    """A run's worker that is killed while a program of it works; the number of that program, which goes on."""
    told, tells = os.pipe()

    def work(place, variables, reporter):
        program = subprocess.Popen([SLEEP, "60"], env=variables, stdout=subprocess.PIPE)
        os.write(tells, f"{program.pid}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)

    lock = take(target, 0, make=True)
    assert "signal 9" in Worker(target, runs.newest(target), lock).carry_out(work, lambda _: None).status
    lock.close(changed=True)
    number = int(os.read(told, 32))
    os.close(told)
    os.close(tells)
    return number


def test_what_a_killed_run_really_left_at_work_is_waited_for(target):
    left = killed(target)
    try:
        with pytest.raises(Busy, match=rf"left programs that still work: sleep \(pid {left}\)"):
            take(target, 0.2, make=True)
    finally:
        os.kill(left, signal.SIGKILL)
    take(target, 5, make=True).close(changed=True)


def test_the_token_is_in_the_run_for_root_alone_and_goes_once_nothing_is_at_work(target):
    from hostagent.install.ansible import PlayResult
    from hostagent.install.runs import TOKEN

    run, told = runs.newest(target), []
    os.kill(killed(target), signal.SIGKILL)
    tokens = {run.token}
    file = os.lstat(f"{run.path}/{TOKEN}")
    assert (stat.filemode(file.st_mode), file.st_uid, len(run.token)) == ("-rw-------", 0, 32)

    def work(place, variables, reporter):
        reporter.log(" ".join(variables))
        reporter.report({"event": "ok", "step": "a", "number": 0, "seconds": 0, "rc": 0, "own": variables[VARIABLE] == run.token})
        reporter.report({"event": "start", "token": run.token})
        return PlayResult("successful", None)

    lock = take(target, 5, make=True)
    assert Worker(target, run, lock).carry_out(work, told.append).status == "successful"
    lock.close(changed=True)
    assert told[0]["own"] is True
    tokens.add(told[1]["token"])
    assert (len(tokens), run.token, os.path.lexists(f"{run.path}/{TOKEN}")) == (2, "", False)
    kept = b"".join(path.read_bytes() for path in Path(run.path).iterdir() if path.is_file())
    assert b"operation" in kept
    assert VARIABLE.encode() in kept
    assert not any(token.encode() in kept for token in tokens)


class Host:
    """All that hostagent locks, once it was used; below `PLACES`, which are this process's own."""

    def __init__(self):
        place = everybodys()
        self.tree, self.bank, self.state, self.temporary = (place / name for name in ("host", "bank", "state", "tmp"))
        for folder in ("sys/kernel", "proc/sys/kernel/random", "dev", "run", "etc", "var/lib"):
            (self.tree / folder).mkdir(parents=True)
        for folder in (self.bank, self.state, self.temporary):
            folder.mkdir()
        (self.tree / "proc/sys/kernel/random/boot_id").write_text(f"{BOOT_ID}\n")
        (self.tree / "proc/stat").write_text("cpu 0\nbtime 1763640000\n")
        (self.tree / "dev/kmsg").write_text(f"6,0,0,-;Linux version 6.8.0-87-generic\n{XID}")
        self.target = Target(Evidence(host_root=str(self.tree)))

    @property
    def cleared(self):
        return len(json.loads((self.tree / "run/hostagent/cleared.json").read_text())["cleared"])

    def run(self):
        take(self.target, 0.2, make=True).close(changed=True)

    def clear(self, deadline_s=5):
        with (self.tree / "dev/kmsg").open("a") as stream:
            stream.write(XID.replace("5000000", str(time.monotonic_ns() // 1000)))
        argv = ["events", "clear", "--host-root", str(self.tree), "--reason", "x", "--deadline", str(deadline_s)]
        return subprocess.run([sys.executable, "-m", "hostagent", *argv], capture_output=True, text=True, check=False, timeout=PROGRAM_S)

    def clear_at_once(self):
        before = self.cleared
        done = self.clear()
        assert (done.returncode, done.stderr, self.cleared) == (0, "", before + 1)

    def save(self):
        with statedir.alone(str(self.state)):
            assert statedir.save(str(self.state), {statedir.STATE: "{}"}) == ()
            beside = start(lambda: os._exit(not self._waits()))
            assert os.waitpid(beside, 0)[1] == 0, "the other process of the daemon waits"

    def _waits(self):
        began = time.monotonic()
        with statedir.alone(str(self.state)):
            return time.monotonic() - began > 0.1

    def begin(self):
        descriptor = daemon_lock.take(str(self.state))
        assert descriptor is not None
        os.close(descriptor)

    def ask(self):
        own = start(lambda: os._exit(hold("toy", MODULE, Root("/"), time.monotonic() + SOON_S) is not None))
        assert os.waitpid(own, 0)[1] == 0

    def write_shims(self):
        assert len(write_shims(str(self.bank), exact=False)) == 3

    def copy(self):
        with leftover.directory(0) as path:
            assert os.listdir(self.temporary) == [os.path.basename(path)]


#: What locks, and the seconds that it may take beside a user who has locked all that he can.
USES = {
    Host.run: SOON_S,
    Host.clear_at_once: PROGRAM_S,
    Host.save: 2.0,
    Host.begin: SOON_S,
    Host.ask: SOON_S,
    Host.write_shims: 5.0,
    Host.copy: SOON_S,
}


def take_all(ready):
    """Every lock of either kind on everything below that can be opened; it is kept until the process ends."""
    taken = []
    for place in PLACES:
        for above, folders, files in os.walk(place):
            for path in (above, *(os.path.join(above, name) for name in (*folders, *files))):
                for flags in (os.O_RDWR, os.O_RDONLY):
                    with contextlib.suppress(OSError):
                        descriptor = os.open(path, flags | os.O_NONBLOCK)
                        taken.append(descriptor)
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        fcntl.lockf(descriptor, (fcntl.LOCK_EX if flags == os.O_RDWR else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    os.write(ready, len(taken).to_bytes(4, "little"))
    time.sleep(60)


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
def test_a_user_who_has_locked_all_that_he_can_open_stops_nothing(use, monkeypatch):
    host = Host()
    monkeypatch.setattr("tempfile.tempdir", str(host.temporary))
    assert host.clear().returncode == 0
    for one in USES:
        one(host)
    ready, told = os.pipe()
    pid = start(lambda: take_all(told), NOBODY)
    try:
        assert int.from_bytes(os.read(ready, 4), "little") > 20
        began = time.monotonic()
        use(host)
        assert time.monotonic() - began < USES[use]
    finally:
        end(pid)
        os.close(ready)
        os.close(told)


def test_who_clears_faults_waits_until_his_deadline_and_says_who_has_the_lock():
    host = Host()
    host.clear()
    lock = host.tree / "run/hostagent/events.lock"
    assert stat.filemode(lock.lstat().st_mode) == "-rw-------"
    with lock.open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        began = time.monotonic()
        done = host.clear(2)
        assert time.monotonic() - began > 1.9
        assert done.returncode == 2
        said = " ".join(done.stderr.split())
        assert f"{lock} held by" in said
        assert f"(pid {os.getpid()}) until the deadline" in said
        assert "Nothing is cleared" in said
    assert host.cleared == 1
    host.clear_at_once()
