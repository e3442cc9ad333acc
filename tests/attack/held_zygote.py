"""Runs the command line again and again, each time in a process of its own: ``python -m tests.attack.held_zygote``.

A start of Python for each of a thousand rows would take minutes. This process imports hostagent once, has one thread, and forks
for each row that it reads from its standard input; what the row leaves behind becomes its child, so that it is seen. As root it
has ``/run/hostagent`` for itself, or what ``HELD_STATE`` names in its place. Rows and answers are ``marshal`` with a length before them; see `held_run`.
"""

import ctypes
import importlib
import marshal
import os
import pkgutil
import re
import resource
import select
import signal
import struct
import sys
import time
import traceback
from pathlib import Path

import hostagent
import hostagent_checks

_SUBREAPER = 36  # prctl
_GRACE_S = 1.0
_KEPT_BYTES = 64 << 20
#: A row that asks for more is a finding; without an end it would be one for the machine.
ADDRESS_SPACE = 2 << 30
LENGTH = struct.Struct("<Q")


def console_script():
    """The function that pyproject.toml names."""
    text = (Path(hostagent.__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    module, function = re.search(r'^hostagent = "([\w.]+):(\w+)"', text, re.MULTILINE).groups()
    return getattr(importlib.import_module(module), function)


def serve():
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    quiet = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(quiet, standard)
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    if os.geteuid() == 0:
        from tests.attack.spaces import mount, unshare

        unshare("mount")
        os.makedirs("/run/hostagent", exist_ok=True)
        if state := os.environ.get("HELD_STATE"):
            mount(state, "/run/hostagent", "", 4096)  # MS_BIND
        else:
            mount("none", "/run/hostagent", "tmpfs")
        for path in (sys.base_prefix, sys.prefix, Path(hostagent.__file__).parent.parent):
            _opened(Path(path))
    for package in (hostagent, hostagent_checks):
        for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not one.name.endswith("__main__"):
                importlib.import_module(one.name)
    main = console_script()
    while head := requests.read(LENGTH.size):
        data = marshal.dumps(run(main, **marshal.loads(requests.read(*LENGTH.unpack(head)))))
        answers.write(LENGTH.pack(len(data)) + data)
        answers.flush()


def _opened(path):
    """Every user reaches `path`: a directory before it that is root's alone becomes an empty one with a way to it, here and nowhere else."""
    from tests.attack.spaces import mount

    path = path.resolve()
    closed = next((one for one in reversed(path.parents) if not one.stat().st_mode & 1), None)
    if closed is None:
        return
    held = os.open(path, os.O_PATH)
    mount("none", str(closed), "tmpfs", 0, "mode=755")
    path.mkdir(parents=True)
    mount(f"/proc/self/fd/{held}", str(path), "", 4096)
    os.close(held)


def run(main, *, argv, environment, cwd, before, timeout_s, kill):
    """What became of one row: (exit code or minus the signal, stdout, stderr, KiB, seconds, what was left)."""
    out, err = os.memfd_create("out"), os.memfd_create("err")
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _row(main, argv, (out, err), environment=environment, cwd=cwd, before=before)
    if kill:
        _killed(pid, *kill)
    code, usage = _ended(pid, timeout_s)
    took_s = time.monotonic() - started
    told = tuple(os.pread(one, _KEPT_BYTES, 0) for one in (out, err))
    for one in (out, err):
        os.close(one)
    return code, *told, usage.ru_maxrss, took_s, left_behind()


def _killed(pid, number, after_s):
    """A signal after so many seconds, unless the row has ended by then."""
    watched = os.pidfd_open(pid)
    if not select.select([watched], [], [], after_s)[0]:
        os.kill(pid, number)
    os.close(watched)


def _ended(pid, timeout_s):
    watched = os.pidfd_open(pid)
    if not select.select([watched], [], [], timeout_s)[0]:
        os.killpg(pid, signal.SIGKILL)
        _, _, usage = os.wait4(pid, 0)
        os.close(watched)
        return "late", usage
    os.close(watched)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage


def left_behind():
    """Command lines of what a row left running; it is ended here."""
    ends = time.monotonic() + _GRACE_S
    while True:
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                return []
        if time.monotonic() > ends:
            break
        time.sleep(0.01)
    left = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    told = [Path(f"/proc/{pid}/stat").read_text()[:60] for pid in left]
    for pid in left:
        os.kill(int(pid), signal.SIGKILL)
    return told


def _row(main, argv, streams, *, environment, cwd, before):
    """In the child: as the console script does it, up to how Python itself would end."""
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number, stream in enumerate(streams, 1):
            os.dup2(stream, number)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["hostagent", *argv]
        sys.stdin = open(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")  # noqa: SIM115  as long as the process lives
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  as long as the process lives
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)  # noqa: SIM115  as long as the process lives
        if before:
            module, _, function = before[0].partition(":")
            getattr(importlib.import_module(module), function)(*before[1:])
        code = _called(main)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        code = 120
    finally:
        os._exit(code)


def _called(main):
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(end.code)
            return 1
        return int(end.code or 0) & 0xFF
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve()
