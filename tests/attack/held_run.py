"""Rows of an attack: `Rows` runs each in a process of its own, `Outcome` is what became of it, `held_judge` judges that."""

import contextlib
import marshal
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import NamedTuple

from tests.attack.held_zygote import LENGTH

REPOSITORY = Path(__file__).parent.parent.parent
HOSTS = REPOSITORY / "tests/hosts"
HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
#: ``make attack`` repeats everything with all its counts; the gate takes fewer where each one is another throw of the same dice.
FULL = bool(os.environ.get("ATTACK"))
LIMIT_KIB = 512 * 1024


def some(rows, every, always=()):
    """All rows for ``make attack``; for the gate each `every`-th, and those whose names hold one of the words `always`."""
    return [one for at, one in enumerate(rows) if FULL or at % every == 0 or any(word in one for word in always)]


class Outcome(NamedTuple):
    """Of one run. `code` is minus the number of a signal, ``late`` where it had to be ended."""

    code: "int | str"
    stdout: bytes
    stderr: bytes
    peak_kib: int
    took_s: float
    left: "list[str]"  # processes that outlived it

    @property
    def out(self):
        return self.stdout.decode("utf-8", "surrogateescape")

    @property
    def err(self):
        return self.stderr.decode("utf-8", "surrogateescape")


class Rows:
    """``hostagent ARGUMENTS``, each in a fork of one small process; `temporary` is the TMPDIR of all."""

    def __init__(self, temporary, state=""):
        self.temporary = Path(temporary)
        self.environment = {"PATH": os.environ["PATH"], "HOME": "/root", "TMPDIR": str(temporary), "LANG": "C.UTF-8"}
        paths = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "checks")))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.attack.held_zygote"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": paths, "HELD_STATE": str(state)},
        )

    def run(self, *arguments, environment=None, cwd="/", before=(), timeout_s=20, kill=()):
        """`before`: ``module:function`` and its arguments, called in the row's own process before all else. `kill`: a signal, and
        after how many seconds it is sent. `state`, of all rows: what stands in the place of ``/run/hostagent``.
        """
        row = {
            "argv": [str(one) for one in arguments],
            "environment": {**self.environment, **(environment or {})},
            "cwd": str(cwd),
            "before": [one if isinstance(one, int) else str(one) for one in before],
            "timeout_s": timeout_s,
            "kill": list(kill),
        }
        data = marshal.dumps(row)
        self._process.stdin.write(LENGTH.pack(len(data)) + data)
        self._process.stdin.flush()
        return Outcome(*marshal.loads(self._process.stdout.read(*LENGTH.unpack(self._process.stdout.read(LENGTH.size)))))

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(20)


def script(*arguments, before="", environment=None, cwd="/", timeout_s=60, uid=None, **streams):
    """The console script itself, from its first instruction; `before` is Python that its process runs before it becomes hostagent."""
    path = {"PATH": os.environ["PATH"], "HOME": "/root", "LANG": "C.UTF-8"}
    command = [HOSTAGENT, *map(str, arguments)]
    if before:
        code = f"import os,sys;sys.path.insert(0,{str(REPOSITORY)!r});{before};os.execv(sys.argv[1],sys.argv[1:])"
        command = [sys.executable, "-c", code, *command]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    who = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
    mark = uuid.uuid4().hex
    env = {**path, **(environment or {}), "HELD_MARK": mark}
    process = subprocess.Popen(command, env=env, cwd=str(cwd), start_new_session=True, **who, **streams)
    process.mark = mark.encode()
    return process


def finished(process, timeout_s=60):
    """What became of a `script`; what it left is known by the session that it was started in."""
    try:
        out, err = process.communicate(timeout=timeout_s)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        code = "late"
    return Outcome(code, out or b"", err or b"", 0, 0.0, marked(process.mark))


def marked(mark, within_s=1.0):
    """Processes that have this mark in their environment: what a program started, and its own, wherever they went."""
    ends = time.monotonic() + within_s
    while True:
        left = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if mark in Path(f"/proc/{pid}/environ").read_bytes():
                    left.append(Path(f"/proc/{pid}/stat").read_text()[:60])
        if not left or time.monotonic() > ends:
            return left
        time.sleep(0.02)
