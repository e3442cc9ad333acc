"""Running a program of the host: the last resort, an argv list, a deadline, capped output, no child left behind."""

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import time

from hostagent.facts.unread import Unread
from hostagent.source.base import MIB, Answer
from hostagent.source.foreign import DIRECTORIES
from hostagent.source.rights import die_with

_PATH = ":".join(DIRECTORIES)
_OUTPUT_LIMIT = 32 * MIB
_ENVIRONMENT = {"LC_ALL": "C", "PATH": _PATH, "HOME": "/nonexistent"}
#: Seconds between two looks at a program that says nothing, and seconds for the output of one that has ended.
_LOOK_S, _REST_S = 0.02, 0.5
_CHUNK = 65536


def run(argv: tuple[str, ...], timeout_s: float, root: str = "/") -> Answer:
    """What the program answered: exit_code, stdout, stderr. Below another root it runs after chroot(2)."""
    ctypes.CDLL(None)  # loaded before the fork: `enter` runs in the child
    parent = os.getpid()

    def enter() -> None:
        if root != "/":
            os.chroot(root)
            os.chdir("/")
        die_with(parent)

    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_ENVIRONMENT,
            cwd="/",
            start_new_session=True,  # its own group: a timeout ends its children too
            preexec_fn=enter,  # noqa: PLW1509  the reading process has one thread
        )
    except subprocess.SubprocessError:
        return Unread("denied", f"{argv[0]}: cannot change root to {root}")
    except FileNotFoundError:
        return Unread("absent", f"no program {argv[0]}")
    except OSError as error:
        return Unread("denied" if isinstance(error, PermissionError) else "error", f"{argv[0]}: {error.strerror}")
    try:
        return _finished(process, argv[0], timeout_s)
    finally:
        _end(process)


def _finished(process: "subprocess.Popen[bytes]", name: str, timeout_s: float) -> Answer:
    outputs = {"stdout": bytearray(), "stderr": bytearray()}
    ends, rest_ends = time.monotonic() + timeout_s, 0.0
    with selectors.DefaultSelector() as selector:
        for key, stream in (("stdout", process.stdout), ("stderr", process.stderr)):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ, outputs[key])
        while selector.get_map() or process.poll() is None:
            if process.poll() is not None:
                rest_ends = rest_ends or _ended(process)
                if time.monotonic() > rest_ends:  # a child in a session of its own holds a pipe: what it holds back is not nothing
                    return Unread("timeout", f"{name} has ended and its output has not")
            elif time.monotonic() > ends:
                return Unread("timeout", f"{name}: no end in {timeout_s:g} s")
            _read(selector)
            if any(len(output) >= _OUTPUT_LIMIT for output in outputs.values()):
                return Unread("error", f"{name}: more than {_OUTPUT_LIMIT} bytes of output")
    texts = {key: output.decode("utf-8", "replace") for key, output in outputs.items()}
    return {"exit_code": process.returncode, **texts}


def _read(selector: selectors.BaseSelector) -> None:
    """What there is to read, into the buffer of its pipe; waits for a moment where there is nothing."""
    if not selector.get_map():
        time.sleep(_LOOK_S)
    for key, _ in selector.select(_LOOK_S):
        with contextlib.suppress(BlockingIOError):
            chunk = os.read(key.fd, _CHUNK)
            key.data.extend(chunk)
            if not chunk:
                selector.unregister(key.fileobj)


def _ended(process: "subprocess.Popen[bytes]") -> float:
    """Ends what the program left running in its group; until when the pipes that others hold are waited for."""
    _kill_group(process)
    return time.monotonic() + _REST_S


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the whole group, also what a finished program left running; wait only briefly for what the kernel holds."""
    _kill_group(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(0.2)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
