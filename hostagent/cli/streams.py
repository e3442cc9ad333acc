"""Standard output and standard error: whole, whatever they are made of, and safe to look at."""

import contextlib
import errno
import io
import os
import sys
from typing import Any, NoReturn

import click

from hostagent.cli.ending import Ended
from hostagent.core.escape import visible
from hostagent.core.smallfile import reason

#: What writing to a full disk, a terminal that went away, a descriptor opened for reading, or beyond a limit answers.
NOT_WRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EFBIG})


def open_streams() -> bool:
    """Opens /dev/null for closed ones of 0, 1 and 2, so that no later file gets their number. Whether there is a standard output."""
    is_there = sys.stdout is not None
    with contextlib.suppress(OSError):
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(descriptor)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  until this process ends
        else:
            setattr(sys, name, _patient(stream, descriptor))
    return is_there


def _patient(stream: io.TextIOWrapper, descriptor: int) -> io.TextIOWrapper:
    """PYTHONUNBUFFERED takes the buffer away, and with it the rest of a write that a signal cuts short."""
    try:
        if os.get_blocking(descriptor) and isinstance(stream.buffer, io.BufferedIOBase):
            stream.reconfigure(errors="backslashreplace")  # no locale's encoding has every letter
            return stream
        raw = io.BufferedWriter(_Patient(descriptor, "w", closefd=False))
    except OSError:  # a system call that is refused
        return stream
    return io.TextIOWrapper(raw, encoding=stream.encoding, errors="backslashreplace")


class _Patient(io.FileIO):
    """Writes to a descriptor that its owner may have made non-blocking: waits until it takes more, and leaves its flags alone."""

    def write(self, data: Any, /) -> int:
        rest = memoryview(data).cast("B")
        while rest:
            taken = super().write(rest)
            if taken is None:
                _wait(self.fileno())
            else:
                rest = rest[taken:]
        return len(data)


def _wait(descriptor: int) -> None:
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll()


def say(*lines: str) -> None:
    """Lines on standard output, each made visible."""
    put("".join(f"{visible(line)}\n" for line in lines))


def put(text: str) -> None:
    """Text on standard output as it is: a report, whose sink has made visible what a host said. Raises ``click.ClickException``."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        refuse(error)


def refuse(error: OSError) -> NoReturn:
    """Ends the run after a failed write to standard output. A reader that has gone ends us as it ends every filter."""
    if isinstance(error, BrokenPipeError):
        raise Ended.by_pipe() from error
    raise click.ClickException(f"cannot write standard output: {reason(error)}") from error


def complain(*lines: str) -> None:
    """Lines on standard error, each made visible. Where that cannot be written, the exit code alone remains."""
    with contextlib.suppress(Exception):
        sys.stderr.write("".join(f"{visible(line)}\n" for line in lines))
        sys.stderr.flush()
