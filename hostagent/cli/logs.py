"""Reads log arguments: files, compressed files, directories of them, standard input; piece by piece."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from hostagent.cli.folders import files_of
from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible
from hostagent.core.smallfile import STANDARD_INPUT, reason
from hostagent.domains.nccl.logs.chunks import Block, BombError, blocks, unpacked

_PIECE = 1024 * 1024
_MOST_FILES = 200_000
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEXT = "Give the log of a job that ran with NCCL_DEBUG=INFO: files, .gz, directories, or - for standard input"


def read_logs(paths: tuple[str, ...]) -> Iterator[tuple[str, Block]]:
    """Each file's name with its blocks. Raises ``HostagentError`` for what cannot be read."""
    for path in paths:
        for file in _files(path):
            try:
                yield from ((file, block) for block in blocks(unpacked(_pieces(file))))
            except BombError as error:
                raise HostagentError(f"cannot read {visible(file)}: {error}", _NEXT) from error
            except OSError as error:
                raise _unreadable(file, error) from error


def _unreadable(path: str, error: OSError) -> HostagentError:
    return HostagentError(f"cannot read {visible(path)}: {reason(error)}", _NEXT)


def _files(path: str) -> list[str]:
    """The file itself, or what regular files a directory has, in the order of their names."""
    try:
        found = files_of(path, _MOST_FILES)
    except OSError as error:
        raise _unreadable(path, error) from error
    if not found:
        raise HostagentError(f"found no file in {visible(path)}, wanted logs", _NEXT)
    return found


def _pieces(path: str) -> Iterator[bytes]:
    """What a file, a pipe or standard input gives, as it comes."""
    descriptor = 0 if path == STANDARD_INPUT else _opened(path)
    try:
        while piece := os.read(descriptor, _PIECE):
            yield piece
    finally:
        if descriptor:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _opened(path: str) -> int:
    """A regular file or a pipe; never a device."""
    try:
        descriptor = os.open(path, _OPEN)
    except ValueError as error:
        raise OSError(errno.EINVAL, "found a zero byte in the name") from error
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFIFO):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "found something that is not a file, wanted a file, a pipe or a directory")
    os.set_blocking(descriptor, True)
    return descriptor
