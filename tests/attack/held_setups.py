"""What the process of a row does to itself before it is hostagent. Each function takes words, so that a row can be a line of text."""

import contextlib
import ctypes
import os
import resource
import signal
import struct

from tests.attack import spaces

_MS_BIND = 4096
_CAP_LAST = 40
_PR_CAPBSET_DROP, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 24, 22, 38
_LOAD_ARCH, _LOAD_CALL = 4, 0  # offsets in seccomp_data
_AUDIT_X86_64 = 0xC000003E
_ALLOW, _ERRNO_EPERM = 0x7FFF0000, 0x00050001
_UNISTD = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"


def all_of(*steps):
    """Several, each written ``function word word``."""
    for step in steps:
        name, *words = step.split()
        globals()[name](*words)


def rlimit(name, value):
    number = resource.RLIM_INFINITY if value == "infinity" else int(value)
    resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (number, number))


def close(*descriptors):
    for one in descriptors:
        with contextlib.suppress(OSError):
            os.close(int(one))


def without(*paths):
    """Empty directories in their places, in a mount namespace of this process."""
    spaces.unshare("mount")
    for path in paths:
        spaces.mount("none", path, "tmpfs")


def bound(source, target):
    """`source` stands in the place of `target`."""
    spaces.unshare("mount")
    spaces.mount(source, target, "", _MS_BIND)


def small(path, kib):
    spaces.unshare("mount")
    spaces.mount("none", path, "tmpfs", 0, f"size={kib}k")


def leave(*kinds):
    """Namespaces of its own; of ``pid`` a child of this process goes on, and its exit code is this one's."""
    spaces.unshare(*kinds)
    if "pid" in kinds:
        child = os.fork()
        if child:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            os._exit(code if code >= 0 else 128 - code)


def become(uid):
    os.chdir("/")
    spaces.become(int(uid))


def drop_capabilities(*kept):
    """All of them but the numbers in `kept`; uid 0 remains."""
    libc = ctypes.CDLL(None)
    for one in range(_CAP_LAST + 1):
        if str(one) not in kept:
            libc.prctl(_PR_CAPBSET_DROP, one, 0, 0, 0)
    mask = sum(1 << int(one) for one in kept)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    header, data = struct.pack("<Ii", 0x20080522, 0), struct.pack("<6I", low, low, 0, high, high, 0)
    if libc.capset(header, data) != 0:
        raise OSError("capset")


def no_new_privileges():
    ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def umask(mode):
    os.umask(int(mode, 8))


def blocked(*names):
    signal.pthread_sigmask(signal.SIG_BLOCK, {getattr(signal, f"SIG{name}") for name in names} or signal.valid_signals())


def ignored(*names):
    for name in names:
        signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_IGN)


def nowhere():
    """The current directory is gone."""
    path = f"/tmp/held-gone-{os.getpid()}"
    os.mkdir(path)
    os.chdir(path)
    os.rmdir(path)


def onto(descriptor, path):
    """The descriptor is open on `path`, for reading and writing."""
    opened = os.open(path, os.O_RDWR)
    os.dup2(opened, int(descriptor))
    os.close(opened)


def unread_pipe(descriptor):
    """A pipe whose reader has gone."""
    reading, writing = os.pipe()
    os.dup2(writing, int(descriptor))
    os.close(reading)
    os.close(writing)


def directory_as(descriptor):
    opened = os.open("/", os.O_RDONLY)
    os.dup2(opened, int(descriptor))
    os.close(opened)


def nice(by):
    os.nice(int(by))


def numbers():
    """System calls of x86_64 by name, from the kernel's own header."""
    with open(_UNISTD, encoding="ascii") as stream:
        words = [line.split() for line in stream if line.startswith("#define __NR_")]
    return {name.removeprefix("__NR_"): int(number) for _, name, number in words}


def refuse(*calls):
    """EPERM for these system calls from now on (seccomp(2)), for this process and all that it starts."""
    table = numbers()
    rows = [(0x20, 0, 0, _LOAD_ARCH), (0x15, 1, 0, _AUDIT_X86_64), (0x06, 0, 0, _ALLOW), (0x20, 0, 0, _LOAD_CALL)]
    for call in calls:
        rows += [(0x15, 0, 1, table[call]), (0x06, 0, 0, _ERRNO_EPERM)]
    rows.append((0x06, 0, 0, _ALLOW))
    program = b"".join(struct.pack("<HBBI", *row) for row in rows)
    buffer = ctypes.create_string_buffer(program, len(program))
    no_new_privileges()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, 2, struct.pack("<HxxxxxxQ", len(rows), ctypes.addressof(buffer)), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")
