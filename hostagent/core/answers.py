"""Types of answers: to questions about files, disks and programs."""

from typing import Any, NamedTuple

from hostagent.core.unread import Unread

Answer = Any  # bytes for file contents; else what JSON can hold

KIB = 1024
MIB = 1024 * KIB
#: Words of a process' command line in an answer, and bytes of each.
ARGUMENTS, ARGUMENT_BYTES = 64, 4096
_NAMES = tuple[str, ...]


class Stat(NamedTuple):
    """stat(2) with links resolved. ``kind``: file, dir, char, block, fifo, socket."""

    kind: str
    mode: int  # permission bits
    uid: int
    gid: int
    size: int  # bytes
    mtime: float  # seconds since the epoch
    major: int  # of a device
    minor: int


class Disk(NamedTuple):
    """statvfs(3), for an unprivileged user."""

    total_bytes: int
    free_bytes: int
    free_inodes: int
    mount_id: int  # f_fsid: equal for two paths on one filesystem


class Space(NamedTuple):
    """statvfs(3) of a filesystem, free for an unprivileged user; 0 inodes in all: it does not count them."""

    total_bytes: int
    free_bytes: int
    total_inodes: int
    free_inodes: int


class Elf(NamedTuple):
    """A file's ELF header: ``machine`` is e_machine, 0 of what is no 64-bit ELF file."""

    machine: int
    whole: bool  # a shared library, and each loaded segment ends within the file


class NcclFile(NamedTuple):
    """A libnccl, or a plug-in of it."""

    version: str  # "" of a plug-in
    cuda: str
    needed: tuple[str, ...]  # names of libraries
    paths: tuple[str, ...]  # RPATH and RUNPATH, as written
    symbols: tuple[str, ...]  # of NCCL's interfaces: ncclNetPlugin_v10


class Completed(NamedTuple):
    """A command that ended within its deadline."""

    exit_code: int
    stdout: str
    stderr: str


def unexpected(method: str, argument: str, answer: Any) -> Unread:
    """A tape can hold anything: a wrong shape is an error, not a crash."""
    return Unread("error", f"{method} {argument}: answer of type {type(answer).__name__}".replace("  ", " "))


def shaped(shape: Any, method: str, argument: str, answer: Any) -> Any:
    """`answer`, a mapping with just the fields of a NamedTuple and their types, as that NamedTuple."""
    if isinstance(answer, shape):
        return answer
    wanted = shape.__annotations__
    if not isinstance(answer, dict) or set(answer) != set(wanted):
        return unexpected(method, argument, answer)
    for name, kind in wanted.items():
        accepted = (int, float) if kind is float else kind
        if kind == _NAMES and isinstance(answer[name], list) and all(isinstance(one, str) for one in answer[name]):
            answer = {**answer, name: tuple(answer[name])}
        elif kind == _NAMES or not isinstance(answer[name], accepted) or isinstance(answer[name], bool) != (kind is bool):
            return Unread("error", f"{method} {argument}: field {name} has type {type(answer[name]).__name__}")
    return shape(**answer)
