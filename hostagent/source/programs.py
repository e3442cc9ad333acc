"""Running a program of the host: the last resort, an argv list, a deadline, capped output, no child left behind."""

import contextlib
import os
import signal
import subprocess
import threading
from typing import IO

from hostagent.facts.unread import Unread
from hostagent.source.base import MIB, Answer

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_OUTPUT_LIMIT = 32 * MIB
_ENVIRONMENT = {"LC_ALL": "C", "PATH": _PATH, "HOME": "/nonexistent"}


def run(argv: tuple[str, ...], timeout_s: float, root: str = "/") -> Answer:
    """What the program answered: exit_code, stdout, stderr. Below another root it runs after chroot(2)."""

    def enter() -> None:
        os.chroot(root)
        os.chdir("/")

    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_ENVIRONMENT,
            cwd="/",
            start_new_session=True,  # its own group: a timeout ends its children too
            preexec_fn=enter if root != "/" else None,  # noqa: PLW1509  no threads run yet
        )
    except subprocess.SubprocessError:
        return Unread("denied", f"{argv[0]}: cannot change root to {root}")
    except FileNotFoundError:
        return Unread("absent", f"no program {argv[0]}")
    except OSError as error:
        return Unread("denied" if isinstance(error, PermissionError) else "error", f"{argv[0]}: {error.strerror}")
    return _finished(process, argv[0], timeout_s)


def _finished(process: "subprocess.Popen[bytes]", name: str, timeout_s: float) -> Answer:
    outputs: dict[str, bytes] = {}
    readers = [
        threading.Thread(target=_drain, args=(stream, outputs, key), daemon=True)
        for key, stream in (("stdout", process.stdout), ("stderr", process.stderr))
    ]
    for reader in readers:
        reader.start()
    try:
        exit_code = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return Unread("timeout", f"{name}: no end in {timeout_s:g} s")
    finally:
        _end(process)
        for reader in readers:
            reader.join(0.5)
    if len(outputs) < len(readers):  # a child in a session of its own still holds a pipe: what it holds back is not nothing
        return Unread("timeout", f"{name} has ended and its output has not")
    if any(len(output) >= _OUTPUT_LIMIT for output in outputs.values()):
        return Unread("error", f"{name}: more than {_OUTPUT_LIMIT} bytes of output")
    texts = {key: outputs.get(key, b"").decode("utf-8", "replace") for key in ("stdout", "stderr")}
    return {"exit_code": exit_code, **texts}


def _drain(stream: "IO[bytes] | None", outputs: dict[str, bytes], key: str) -> None:
    if stream:
        with stream:
            outputs[key] = stream.read(_OUTPUT_LIMIT)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the whole group, also what a finished program left running; wait only briefly for what the kernel holds."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(0.2)
