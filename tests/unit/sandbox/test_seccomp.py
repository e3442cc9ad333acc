"""The filter of system calls as the kernel runs it, for both machines: here by an interpreter of its instructions."""

from typing import get_args

import pytest

from hostagent.sandbox.refused_syscalls import ALWAYS, BY_ARGUMENTS
from hostagent.sandbox.seccomp import Grant, program

ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
COLUMN = {"x86_64": 0, "aarch64": 1}
PID = 4711
ALLOWED, EPERM, ENOSYS = 0x7FFF0000, 0x50001, 0x50026
#: What a library needs to read: numbers of unistd_64.h and of asm-generic's unistd.h.
NEEDED = {
    "x86_64": {"read": 0, "close": 3, "mmap": 9, "brk": 12, "pread64": 17, "nanosleep": 35, "futex": 202, "getdents64": 217, "sendto": 44, "exit_group": 231},
    "aarch64": {"read": 63, "close": 57, "mmap": 222, "brk": 214, "pread64": 67, "nanosleep": 101, "futex": 98, "getdents64": 61, "sendto": 206, "exit_group": 94},
}  # fmt: skip
MACHINES = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])


def ran(rows, number, arguments=(), architecture=0):
    """What the kernel does with a system call: bpf(4), as far as the filter uses it."""
    data = {0: number, 4: architecture, **{16 + 8 * at: value & 0xFFFFFFFF for at, value in enumerate(arguments)}}
    at = register = 0
    while True:
        code, yes, no, value = rows[at]
        at += 1
        if code == 0x20:
            register = data.get(value, 0)
        elif code == 0x54:
            register &= value
        elif code == 0x15:
            at += yes if register == value else no
        elif code == 0x35:
            at += yes if register >= value else no
        elif code == 0x05:
            at += value
        else:
            assert code == 0x06
            return value


def answer(machine, call, *arguments, grants=("unix-streams",)):
    number = call if isinstance(call, int) else {**ALWAYS, **BY_ARGUMENTS}[call][COLUMN[machine]]
    return ran(program(machine, PID, grants), number, arguments, ARCHITECTURE[machine])


@MACHINES
def test_every_jump_is_one_that_the_kernel_takes(machine):
    rows = program(machine, PID, tuple(get_args(Grant)))
    assert len(rows) < 4096
    for at, (code, yes, no, value) in enumerate(rows):
        assert 0 <= yes < 256
        assert 0 <= no < 256
        assert 0 <= value < 2**32
        if code in (0x15, 0x35):
            assert at + 1 + max(yes, no) < len(rows)
    assert rows[-1][0] == 0x06


@MACHINES
def test_what_reaches_beyond_the_process_is_refused(machine):
    for name, numbers in ALWAYS.items():
        if numbers[COLUMN[machine]] is not None:
            assert answer(machine, name) == EPERM, name


@MACHINES
def test_what_reading_needs_is_not(machine):
    for name, number in NEEDED[machine].items():
        assert answer(machine, number) == ALLOWED, name


@MACHINES
@pytest.mark.parametrize(
    ("call", "arguments", "wanted"),
    [
        ("kill", (PID,), ALLOWED),
        ("kill", (1,), EPERM),
        ("kill", (0,), EPERM),
        ("kill", (-1,), EPERM),
        ("kill", (-PID,), EPERM),
        ("tgkill", (PID, PID + 1), ALLOWED),
        ("tgkill", (1, PID), EPERM),
        ("clone", (0x3D0F00,), ALLOWED),  # pthread_create
        ("clone", (17,), EPERM),  # fork
        ("clone", (0x4111,), EPERM),  # vfork, posix_spawn
        ("clone", (0x3D0F00 | 0x10000000,), EPERM),
        ("clone3", (), ENOSYS),
        ("openat2", (), ENOSYS),
        ("openat", (-100, 0, 0o2000000), ALLOWED),
        ("openat", (-100, 0, 2), ALLOWED),  # a device, for writing
        ("openat", (-100, 0, 0o100), EPERM),
        ("openat", (-100, 0, 0o1002), EPERM),
        ("openat", (-100, 0, 0o20200002), EPERM),
        ("socket", (1, 1, 0), ALLOWED),
        ("socket", (1, 1 | 0o2000000 | 0o4000, 0), ALLOWED),
        ("socket", (1, 2, 0), EPERM),
        ("socket", (2, 1, 0), EPERM),
        ("socket", (16, 3, 0), EPERM),
        ("connect", (3,), ALLOWED),
        ("prctl", (15,), ALLOWED),
        ("prctl", (1, 0), EPERM),
        ("prlimit64", (0, 7), ALLOWED),
        ("prlimit64", (1, 7), EPERM),
        ("sched_setaffinity", (PID,), ALLOWED),
        ("sched_setaffinity", (1,), EPERM),
        ("fcntl", (3, 1), ALLOWED),
        *(("fcntl", (3, command), EPERM) for command in (8, 10, 15, 1024)),
        *(("ioctl", (3, command), ALLOWED) for command in (0xC020462A, 0xC01046D3, 0x85046301, 0xC0816302, 0x30000001)),
        *(("ioctl", (3, command), EPERM) for command in (0x5412, 0x541C, 0x8901, 0xC0045877, 0x40086602, 0x50009401, 0x125D)),
    ],
)
def test_the_rest_is_refused_by_its_arguments(machine, call, arguments, wanted):
    assert answer(machine, call, *arguments) == wanted


@MACHINES
def test_without_sockets_nothing_is_connected_to(machine):
    assert answer(machine, "socket", 1, 1, 0, grants=()) == EPERM
    assert answer(machine, "connect", 3, grants=()) == EPERM


@MACHINES
@pytest.mark.parametrize(
    ("grant", "call", "arguments", "wanted"),
    [
        *(("sockets", "socket", (family, 1), ALLOWED) for family in (2, 10, 16)),
        *(("sockets", "socket", (family, 3), EPERM) for family in (1, 17)),  # AF_UNIX, AF_PACKET
        *(("sockets", call, (3,), ALLOWED) for call in ("connect", "bind", "accept4", "sendmsg")),
        *(("sockets", "ioctl", (3, command), ALLOWED) for command in (0x5421, 0x5451)),
        *(("sockets", "ioctl", (3, command), EPERM) for command in (0x5412, 0xC020462A)),
        ("sockets", "openat", (-100, 0, 0o100), EPERM),
        *(("files", call, (), ALLOWED) for call in ("renameat", "unlinkat", "linkat")),
        ("files", "openat", (-100, 0, 0o1101), ALLOWED),
        *(("files", call, (), EPERM) for call in ("mknodat", "setxattr", "execve", "fchownat", "fchmod", "fchmodat", "utimensat")),
        ("memory", "ftruncate", (3,), ALLOWED),
        ("memory", "openat", (-100, 0, 0o100), EPERM),
        ("programs", "execve", (), ALLOWED),
        ("programs", "clone", (17,), ALLOWED),
        ("programs", "clone", (17 | 0x10000000,), EPERM),  # CLONE_NEWUSER
        ("programs", "ptrace", (), EPERM),
        ("openat2", "openat2", (), ALLOWED),
        ("read-only", "openat", (-100, 0, 0o2000000), ALLOWED),
        *(("read-only", "openat", (-100, 0, flags), EPERM) for flags in (1, 2, 0o100)),
    ],
)
def test_a_grant_gives_what_it_names(machine, grant, call, arguments, wanted):
    assert answer(machine, call, *arguments, grants=(grant,)) == wanted


@MACHINES
def test_the_numbers_of_other_programs_are_refused(machine):
    for architecture in (0x40000003, 0x40000028, *(one for name, one in ARCHITECTURE.items() if name != machine)):
        assert ran(program(machine, PID, tuple(get_args(Grant))), NEEDED[machine]["read"], (), architecture) == EPERM
    if machine == "x86_64":
        assert answer(machine, 0x40000000) == EPERM
        assert answer(machine, 0x40000000 + 512) == EPERM


def test_the_table_names_a_call_once():
    assert not ALWAYS.keys() & BY_ARGUMENTS.keys()
    for column in COLUMN.values():
        numbers = [one[column] for one in (*ALWAYS.values(), *BY_ARGUMENTS.values()) if one[column] is not None]
        assert len(numbers) == len(set(numbers))
