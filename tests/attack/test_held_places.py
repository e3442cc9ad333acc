"""Where a run writes and where it starts: full disks, odd state files, hostile current directories, ten runs at once, odd processes."""

import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
import traceback
from pathlib import Path

import psutil
import pytest

from tests.attack import spaces
from tests.attack.held_judge import PLACEABLE, verdict, wrongs
from tests.attack.held_run import FULL, HOSTAGENT, HOSTS, Outcome, Rows, finished, script, some
from tests.children import until
from tests.trees import hosts

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root: run the tests as root")]

SETUPS = "tests.attack.held_setups"
TAPE = HOSTS / "hgx-h100-gpu-off-the-bus"
OLD = '{"old": true}\n'
_CHECK = ("check", "--profile", "default", "--save-state")
_MODULES = ("click", "json", "yaml", "psutil", "signal", "distro", "hostagent_checks", "sitecustomize", "encodings")


def disk(place, options):
    place.mkdir()
    spaces.mount("none", str(place), "tmpfs", 0, options)
    return place


def fill(place):
    with contextlib.suppress(OSError), (place / "filler").open("wb", buffering=0) as stream:
        while True:
            stream.write(bytes(512))


def test_a_disk_that_is_full_or_becomes_so(tmp_path):
    """Each command that writes, onto a file that is there: afterwards it is the old one or a whole new one."""
    spaces.unshare("mount")
    disks = [disk(tmp_path / str(number), options) for number, options in enumerate(some(_DISKS, 4))]
    (tmp_path / "temporary").mkdir()
    found = []
    with contextlib.closing(Rows(tmp_path / "temporary")) as rows:
        for place, options in zip(disks, some(_DISKS, 4), strict=True):
            (place / "state.json").write_text(OLD)
            (place / "out").write_text(OLD)
            found += [f"{options}: {one}" for is_full in (False, True) for one in _written(rows, place, is_full)]
    assert found == []
    assert os.listdir(tmp_path / "temporary") == []


_DISKS = ("size=64k", "size=16k", "size=96k", "size=160k", "nr_inodes=3")


def _written(rows, place, is_full):
    if is_full:
        fill(place)
    before = (f"{SETUPS}:bound", place, "/run/hostagent")
    for arguments in (("check", "--from", TAPE, "--format", "json", "-o"), ("snapshot", "save"), ("snapshot", "adopt", TAPE), _CHECK):
        target = place / ("out.d" if "adopt" in arguments else "out")
        form, codes = ("text", (1,)) if arguments is _CHECK else ("", (0, 1, 2))
        outcome = rows.run(*arguments, *(() if form else (target,)), before=before)
        yield from (f"{arguments[:2]}: {one}" for one in wrongs(outcome, form, never=PLACEABLE, codes=codes))
        if "adopt" in arguments and target.exists():
            yield from ([] if sorted(os.listdir(target)) == ["expect.yaml", "tape.json"] else ["half a test was adopted"])
            shutil.rmtree(target)
    yield from (f"beside them lies {name}" for name in os.listdir(place) if name not in ("state.json", "out", "filler"))
    for name in ("state.json", "out"):
        json.loads((place / name).read_text())


_STATES = {
    "a directory": lambda path: path.mkdir(),
    "a link to a file": lambda path: path.symlink_to(path.with_name("target")),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to a device": lambda path: path.symlink_to("/dev/full"),
    "a FIFO": os.mkfifo,
    "a device": lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7)),
    "a socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o666),
    "unreadable": lambda path: (path.write_text(OLD), path.chmod(0)),
    "huge": lambda path: (path.touch(), os.truncate(path, 1 << 40)),
    "junk": lambda path: path.write_bytes(os.urandom(4096)),
    "brackets": lambda path: path.write_text("[" * 100_000),
    "words for the terminal": lambda path: path.write_text(json.dumps({"schema_version": "\x1b[2J\u202e"})),
    "numbers without end": lambda path: path.write_text('{"schema_version": 1, "observed_at": 1' + "0" * 4000 + "}"),
}


def test_a_state_file_that_is_something_else(tmp_path):
    """A run replaces it or says that it could not, in time, follows no link, and ``status`` calls nothing of it placeable."""
    spaces.unshare("mount")
    found = []
    (tmp_path / "temporary").mkdir()
    with contextlib.closing(Rows(tmp_path / "temporary", state=disk(tmp_path / "run", ""))) as rows:
        for name, make in _STATES.items():
            path = tmp_path / "run/state.json"
            path.with_name("target").write_text(OLD)
            make(path)
            for arguments in (("status",), ("status", "--format", "json")):
                found += [f"{name}: {one}" for one in wrongs(rows.run(*arguments), codes=(1,))]
            found += [f"{name}: {one}" for one in wrongs(rows.run(*_CHECK), "text", never=PLACEABLE, codes=(1,))]
            if path.with_name("target").read_text() != OLD:
                found.append(f"{name}: the target of the link was written")
            if path.is_file() and not path.is_symlink() and json.loads(path.read_text())["verdict"]["single_node"] in PLACEABLE:
                found.append(f"{name}: a verdict from nowhere")
            if set(os.listdir(path.parent)) > {"state.json", "target"}:
                found.append(f"{name}: left {os.listdir(path.parent)}")
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    assert found == []


def test_a_place_where_nothing_can_be_written(tmp_path):
    spaces.unshare("mount")
    place = disk(tmp_path / "run", "")
    spaces.mount("none", str(place), "", 4096 | 32 | 1)  # bind, again, read-only
    (tmp_path / "temporary").mkdir()
    found = []
    with contextlib.closing(Rows(tmp_path / "temporary", state=place)) as rows:
        for out in (
            place,
            place / "out",
            place / "none/out",
            "/dev/null/out",
            "/proc/self/out",
            "/sys/out",
            "/",
            "x" * 5000,
            f"{place}/\x1b[2J/b",
        ):
            found += [f"-o {out}: {one}" for one in wrongs(rows.run("check", "--from", TAPE, "--output", out, cwd=place), codes=(2,))]
            found += [f"adopt {out}: {one}" for one in wrongs(rows.run("snapshot", "adopt", TAPE, out, cwd=place), codes=(2,))]
        found += wrongs(rows.run("snapshot", "save", place / "out"), codes=(2,))
        found += wrongs(rows.run(*_CHECK), "text", never=PLACEABLE, codes=(1,))
    assert found == []


def test_the_current_directory_is_nobodys_to_import_from(tmp_path):
    taken = tmp_path / "taken"
    for name in _MODULES:
        (tmp_path / f"{name}.py").write_text(f"import os\nos.close(os.open({str(taken)!r}, os.O_CREAT, 0o600))\n")
    (tmp_path / "acme_checks").mkdir()
    (tmp_path / "acme_checks/__init__.py").write_text((tmp_path / "click.py").read_text())
    commands = (("--version",), ("check", "--from", TAPE), ("check", "--profile", "default"))
    module = (sys.executable, "-m", "hostagent")
    for arguments in commands:
        for program in ((HOSTAGENT,), module):
            done = subprocess.run([*program, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
            assert not taken.exists(), f"{' '.join(program)} {arguments}"
            assert wrongs(Outcome(done.returncode, done.stdout.encode(), done.stderr.encode(), 0, 0.0, []), codes=(0, 1)) == []


@pytest.mark.parametrize("where", ["live", "tree"])
def test_ten_runs_at_once_agree(where, tmp_path):
    spaces.unshare("mount")
    os.makedirs("/run/hostagent", exist_ok=True)
    spaces.mount("none", "/run/hostagent", "tmpfs")
    state = Path("/run/hostagent/state.json")
    arguments = ["check", "--format", "json"]
    if where == "tree":
        arguments += ["--host-root", hosts.hgx_h100_here(tmp_path / "host").root]
    for _ in range(3 if FULL else 1):
        running = [script(*arguments) for _ in range(10)]
        while any(one.poll() is None for one in running):
            with contextlib.suppress(FileNotFoundError):
                json.loads(state.read_text())
            for one in running:
                _drain(one)
            time.sleep(0.005)
        outcomes = [_collected(one) for one in running]
        assert [one for outcome in outcomes for one in wrongs(outcome, "json", codes=(0, 1))] == []
        assert len({verdict(outcome.out, "json") for outcome in outcomes}) == 1
        assert {name for name in os.listdir("/run/hostagent") if not name.endswith(".lock")} <= {"state.json"}
    assert where == "tree" or json.loads(state.read_text())["verdict"]["single_node"] == verdict(outcomes[0].out, "json")


def _drain(process):
    """What it has written so far: a pipe holds 64 KiB."""
    if not hasattr(process, "told"):
        process.told = bytearray()
        os.set_blocking(process.stdout.fileno(), False)
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(process.stdout.fileno(), 65536):
            process.told += chunk


def _collected(process):
    _drain(process)
    outcome = finished(process)
    return outcome._replace(stdout=bytes(process.told) + outcome.stdout)


#: A process by what it calls itself: its arguments as bytes, its name, and what is done to it.
_PROCESSES = {
    "a zombie": ([b"containerd"], "containerd", "zombie"),
    "one that is stopped": ([b"containerd", b"--config", b"/etc/x.toml"], "containerd", "stop"),
    "one without arguments": ([b""], "containerd", ""),
    "bytes that are no text": (
        [b"containerd", b"--config", b"/home/\xffx/x.toml", b"--root=/home/\xff\xfe\x9b", b"\xff"],
        "containerd",
        "",
    ),
    "words for the terminal": ([b"dockerd\x1b]0;pwned\x07\x1b[2J\n\xe2\x80\xae", b"--host=\x1b[2J"], "dockerd", ""),
    "a name that ends a name": ([b"nv-fabricmanager"], "x) S 1 1 (y\x1b[2", ""),
    "arguments without end": ([b"containerd", *([b"://:" * 30_000] * 8)], "containerd", ""),
    "a hundred thousand arguments": ([b"crio", *([b"-c"] * 100_000)], "crio", ""),
}


@pytest.mark.parametrize("name", some(_PROCESSES, 3, ("no text", "terminal", "end")))
def test_an_odd_process(name, tmp_path):
    """In a pid namespace of its own: a daemon that is none must not be seen by any other test."""
    spaces.unshare("mount", "pid")
    listening, telling = os.pipe()
    first = os.fork()
    if first == 0:
        try:
            spaces.mount("proc", "/proc", "proc")
            told = _beside(tmp_path, *_PROCESSES[name])
        except BaseException:
            told = traceback.format_exc()
        os.write(telling, told.encode())
        os._exit(0)
    os.close(telling)
    with open(listening, encoding="utf-8") as stream:
        found = stream.read()
    os.waitpid(first, 0)
    assert not found, found


def _beside(place, argv, comm, what):
    (place / "program").mkdir()
    odd = subprocess.Popen([sys.executable, "-c", "pass"]) if what == "zombie" else subprocess.Popen(argv, executable=_sleeper(place, comm))
    if what == "stop":
        odd.send_signal(signal.SIGSTOP)
    elif what == "zombie":
        assert until(lambda: psutil.Process(odd.pid).status() == psutil.STATUS_ZOMBIE)
    with contextlib.closing(Rows(place / "program")) as rows:
        told = []
        for arguments, form, codes in (
            (("check", "--deadline", "6"), "text", (1,)),
            (("check", "--format", "json", "--deadline", "6"), "json", (1,)),
            (("snapshot", "save", place / "tape", "--deadline", "6"), "", (0,)),
        ):
            outcome = rows.run(*arguments)
            told += [f"{arguments[:2]}: {one}" for one in wrongs(outcome, form, never=PLACEABLE, codes=codes)]
            told += [f"{arguments[:2]}: {outcome.took_s:.1f} s"] if outcome.took_s > 5 else []
        if (place / "tape").exists():
            json.loads((place / "tape").read_text())
    return "\n".join(told)


def _sleeper(place, comm):
    """A program of that name that waits whatever its arguments are. The kernel calls a process by its file's name."""
    path = place / "program" / comm
    source = path.parent / "wait.c"
    source.write_text("#include <unistd.h>\nint main(void) { for (;;) pause(); }\n")
    subprocess.run(["gcc", "-o", path, source], check=True)
    return str(path)
