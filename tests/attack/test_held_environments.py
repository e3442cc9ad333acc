"""Whatever surrounds the process (limits, descriptors, namespaces, users, locales, clocks): a verdict that is right, or a sentence."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.held_judge import PLACEABLE, wrongs
from tests.attack.held_run import FULL, HOSTS, REPOSITORY, Rows, finished, script, some

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces, limits and users need root: run the tests as root")

FEWEST = 93
SETUPS = "tests.attack.held_setups"
SICK = HOSTS / "hgx-h100-gpu-off-the-bus"
LIVE = ("check", "--profile", "default")
TAPE = ("check", "--from", SICK, "--format", "json")

#: What the process does to itself, or its environment (with ``=``), before it is hostagent.
AROUND = (
    *(f"rlimit NOFILE {number}" for number in (4, 5, 6, 8, 12, 16, 32)),
    *(f"rlimit AS {mib << 20}" for mib in (20, 40, 64, 128)),
    *("rlimit DATA 1048576", "rlimit STACK 65536", "rlimit FSIZE 0", "rlimit FSIZE 100", "rlimit MEMLOCK 0"),
    *("rlimit SIGPENDING 0", "rlimit RTPRIO 0", "rlimit NICE 0", "nice 19"),
    *("without /proc", "without /sys", "without /dev", "without /proc /sys /dev", "without /etc", "without /run /var /tmp"),
    *("drop_capabilities", "drop_capabilities 21", "drop_capabilities 1 2", "no_new_privileges"),
    *("leave net", "leave ipc", "leave pid", "leave cgroup", "leave mount pid net ipc"),
    *("umask 777", "umask 0", "nowhere", "directory_as 0", "close 0"),
    *("blocked", "blocked CHLD ALRM", "ignored CHLD", "ignored ALRM", "ignored PIPE", "ignored TERM HUP INT", "blocked TERM KILL"),
    *("COLUMNS=²", "COLUMNS=-1", "COLUMNS=0", "COLUMNS=99999999999999999999", "TERM=\x1b[2J", "TMPDIR=/nowhere", "PATH=", "HOME="),
    *("TZ=:/dev/zero", "TZ=nonsense\x1b", "_HOSTAGENT_COMPLETE=bash_source", "_HOSTAGENT_COMPLETE=zsh_complete", "CLICK_COLOR=1"),
)
#: What Python itself meets when it starts.
STARTS = (
    *("close 0", "close 1", "close 2", "close 1 2", "close 0 1 2", "onto 1 /dev/full", "onto 2 /dev/full", "onto 0 /dev/full"),
    *("unread_pipe 2", "directory_as 1", "directory_as 2", "rlimit NOFILE 4", "rlimit NOFILE 5", "rlimit NOFILE 7", "rlimit AS 20000000"),
    *("rlimit AS 60000000", "rlimit NPROC 0", "LC_ALL=C", "LC_ALL=tr_TR.UTF-8", "LC_ALL=xx_XX.nonsense", "LANG=", "PYTHONIOENCODING=ascii"),
    *("PYTHONUTF8=0", "PYTHONHOME=", "PYTHONOPTIMIZE=2", "PYTHONWARNINGS=error"),
)
#: System calls that an LSM or a filter may refuse.
CALLS = (
    *("openat", "access", "newfstatat", "fstat", "lstat", "statx", "getdents64", "readlink", "lseek", "read", "pread64", "write", "ioctl"),
    *(
        "fcntl",
        "flock",
        "dup",
        "dup2",
        "pipe2",
        "poll",
        "select",
        "clone",
        "clone3",
        "vfork",
        "execve",
        "wait4",
        "kill",
        "setpgid",
        "setsid",
    ),
    *("prctl", "setitimer", "rt_sigaction", "rt_sigprocmask", "mmap", "munmap", "brk", "mprotect", "getrandom", "clock_nanosleep", "uname"),
    *("sysinfo", "statfs", "fstatfs", "adjtimex", "memfd_create", "ftruncate", "getcwd", "chdir", "fchmod", "rename", "unlink", "fsync"),
    *(
        "umask",
        "sched_getaffinity",
        "setfsuid",
        "setfsgid",
        "capset",
        "capget",
        "chroot",
        "unshare",
        "prlimit64",
        "socket",
        "close",
        "getpid",
    ),
    *("pidfd_open", "openat2", "sendfile", "getuid", "geteuid", "mount", "seccomp"),
)
CALLS_AT_START = ("fcntl", "uname", "rt_sigaction", "getrandom", "getcwd", "sysinfo", "geteuid", "prctl")
_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(clock, now);
    if (!code && clock == CLOCK_REALTIME && getenv("HELD_NOW"))
        now->tv_sec = atoll(getenv("HELD_NOW"));
    return code;
}
"""
CLOCKS = {"1969": -3600, "1970": 0, "2040": 2208988800, "2100": 4102444800}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    with contextlib.closing(Rows(tmp_path_factory.mktemp("temporary"))) as running:
        yield running


def tried(rows, tmp_path, steps, commands, environment):
    """What is wrong with a live run, one of a snapshot, and a snapshot that is saved."""
    before = (f"{SETUPS}:all_of", *steps) if steps else ()
    shown = tmp_path / "tape"
    rounds = ((LIVE, "text", (1, 2)), (TAPE, "json", (1, 2)), (("snapshot", "save", shown), "", (0, 2)))
    for arguments, form, codes in rounds[:commands]:
        outcome = rows.run(*arguments, before=before, cwd=tmp_path, environment=environment)
        yield from (f"{arguments[0]} {form}: {one}" for one in wrongs(outcome, form, never=PLACEABLE, codes=codes))
    left = os.listdir(tmp_path) + os.listdir(rows.temporary)
    if commands == 3 and outcome.code == 0 and "TMPDIR" not in str(steps) and shown.exists():
        json.loads(shown.read_text())
        shown.unlink()
        left.remove("tape")
    yield from (f"left {name}" for name in left)


def test_no_fewer_are_tried_than_were_before():
    assert len(AROUND) * 3 + len(STARTS) >= FEWEST
    assert len(CALLS) + len(CALLS_AT_START) >= 38


@pytest.mark.parametrize("around", some(AROUND, 4, ("NOFILE 5", "AS 20", "FSIZE 0", "\xb2", "COMPLETE", "/proc /sys", "CHLD")))
def test_an_odd_environment(around, rows, tmp_path):
    name, is_variable, value = around.partition("=")
    environment = {name: value} if is_variable else None
    found = list(tried(rows, tmp_path, () if is_variable else (around,), 3 if FULL else 2, environment))
    if around.startswith("rlimit FSIZE"):  # what a file takes no more cannot be taken back: what counts is that it is no verdict
        found = [one for one in found if "exit 2 in no sentence: ''" not in one and "standard output: file too large" not in one]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("around", some(STARTS, 4, ("close", "/dev/full", "NOFILE 5", "AS 20")))
def test_an_odd_start(around, tmp_path):
    name, is_variable, value = around.partition("=")
    before = "" if is_variable else f"from tests.attack import held_setups as h;h.all_of({around!r})"
    environment = {name: value} if is_variable else None
    outcome = finished(script(*TAPE, before=before, environment=environment, cwd=tmp_path))
    if outcome.code != 2 and not starts(before):
        return  # not even Python itself comes as far as that
    is_heard = "2" not in around.split() or "onto 0" in around
    is_told = "1" not in around.split()
    if is_told and is_heard:
        assert wrongs(outcome, "json", never=PLACEABLE, codes=(1, 2)) == []
    elif is_told:
        assert outcome.code == 1, "the report is written: nobody hears that standard error is not there"
        assert wrongs(outcome, "json", never=PLACEABLE, codes=(1,)) == []
    else:
        assert outcome.code == 2, "without a word there is no verdict"
        assert "Traceback" not in outcome.err
        assert outcome.out == ""
    assert os.listdir(tmp_path) == []


def starts(before):
    """Whether a bare Python with the libraries gets up there."""
    code = f"import os,sys;sys.path.insert(0,{str(REPOSITORY)!r});{before or 'pass'};os.execv(sys.argv[1],sys.argv[1:])"
    command = [sys.executable, "-c", code, sys.executable, "-c", "import click, json, signal, traceback, importlib, os; os.listdir('/')"]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize("call", some(CALLS, 4, ("write", "sigaction", "fcntl", "uname", "kill", "flock")))
def test_a_system_call_is_refused(call, rows, tmp_path):
    """There is no sentence for a kernel that refuses close(2): exit 2 may have a traceback here. A verdict may not be wrong or silent."""
    outcome = rows.run(*LIVE, before=(f"{SETUPS}:all_of", f"refuse {call}"), cwd=tmp_path)
    found = [one for one in wrongs(outcome, "text", never=PLACEABLE, codes=(1, 2)) if outcome.code != 2]
    assert not found, "\n".join(found)
    assert os.listdir(tmp_path) + os.listdir(rows.temporary) == []


@pytest.mark.parametrize("call", some(CALLS_AT_START, 3, ("uname",)))
def test_a_system_call_is_refused_from_the_start_on(call, tmp_path):
    before = f"from tests.attack import held_setups as h;h.refuse({call!r})"
    outcome = finished(script(*LIVE, before=before, cwd=tmp_path))
    assert outcome.code == 2 or not starts(before) or wrongs(outcome, "text", never=PLACEABLE, codes=(1,)) == []


@pytest.mark.parametrize("limit", ["umask 22", "rlimit NPROC 0", "rlimit NPROC 1"])
def test_a_user_without_a_name(limit, rows):
    commands = (
        (LIVE, "text"),
        (TAPE, "json"),
        (("check", "--format", "prometheus"), "prometheus"),
        (("status",), ""),
        (("snapshot", "save", "/dev/null"), ""),
    )
    found = []
    for arguments, form in commands:
        outcome = rows.run(
            *arguments, before=(f"{SETUPS}:all_of", limit, "become 54321"), environment={"HOME": "/nowhere", "TMPDIR": "/tmp"}
        )
        found += [f"{arguments}: {one}" for one in wrongs(outcome, form, never=PLACEABLE)]
    assert not found, "\n".join(found)


@pytest.fixture(scope="module")
def clock(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("needs gcc: 'apt-get install gcc libc6-dev'")
    place = tmp_path_factory.mktemp("clock")
    (place / "clock.c").write_text(_CLOCK)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", place / "clock.so", place / "clock.c", "-ldl"], check=True)
    return place / "clock.so"


@pytest.mark.parametrize("year", some(CLOCKS, 3))
def test_a_clock_that_is_wrong_by_decades(year, clock, rows, tmp_path):
    """On the live machine by a library before libc; on a snapshot by what it recorded."""
    environment = {"LD_PRELOAD": str(clock), "HELD_NOW": str(CLOCKS[year]), "TMPDIR": str(tmp_path)}
    for arguments, form in ((LIVE, "text"), (("status",), ""), (("snapshot", "save", tmp_path / "tape"), "")):
        outcome = finished(script(*arguments, environment=environment))
        assert wrongs(outcome, form, never=PLACEABLE) == []
        assert form != "text" or year in outcome.out, "the clock is the one that is meant"
    recorded = json.loads((SICK / "tape.json").read_text())
    recorded["answers"]["host"]["json"]["now"] = CLOCKS[year]
    Path(tmp_path, "tape.json").write_text(json.dumps(recorded))
    for form in ("text", "json", "html", "junit", "prometheus"):
        assert wrongs(rows.run("check", "--from", tmp_path / "tape.json", "--format", form), form, never=PLACEABLE) == []
