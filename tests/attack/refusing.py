"""``python -m tests.attack.refusing NAMES PROGRAM [ARGUMENT…]``: run a program to which the kernel refuses some system calls (EPERM).

As a container's seccomp profile or a security module does. `NAMES` is a list with commas; a name that this machine's kernel does not have
is passed over.
"""

import ctypes
import os
import struct
import sys

#: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h
NUMBERS = {
    "x86_64": {
        "access": 21, "alarm": 37, "chdir": 80, "chmod": 90, "clock_nanosleep": 230, "clone3": 435, "close": 3, "dup": 32, "dup2": 33,
        "dup3": 292, "epoll_create1": 291, "faccessat": 269, "faccessat2": 439, "fchmod": 91, "fcntl": 72, "flock": 73, "fork": 57,
        "fstat": 5, "fsync": 74, "futex": 202, "getcwd": 79, "getdents64": 217, "geteuid": 107, "getpid": 39, "getrandom": 318,
        "getrlimit": 97, "getuid": 102, "ioctl": 16, "kill": 62, "linkat": 265, "lseek": 8, "lstat": 6, "madvise": 28, "mkdir": 83,
        "mremap": 25, "munmap": 11, "nanosleep": 35, "openat2": 437, "pipe": 22, "pipe2": 293, "poll": 7, "ppoll": 271, "prctl": 157,
        "pread64": 17, "prlimit64": 302, "readlink": 89, "readlinkat": 267, "rename": 82, "renameat": 264, "renameat2": 316,
        "rt_sigaction": 13, "rt_sigprocmask": 14, "sched_getaffinity": 204, "select": 23, "set_robust_list": 273, "setitimer": 38,
        "setrlimit": 160, "sigaltstack": 131, "socket": 41, "stat": 4, "statfs": 137, "statx": 332, "sysinfo": 99, "syslog": 103, "umask": 95, "uname": 63,
        "unlink": 87, "unlinkat": 263, "vfork": 58, "wait4": 61, "writev": 20,
    },
    "aarch64": {
        "chdir": 49, "clock_nanosleep": 115, "clone3": 435, "close": 57, "dup": 23, "dup3": 24, "epoll_create1": 20, "faccessat": 48,
        "faccessat2": 439, "fchmod": 52, "fcntl": 25, "flock": 32, "fstat": 80, "fsync": 82, "futex": 98, "getcwd": 17, "getdents64": 61,
        "geteuid": 175, "getpid": 172, "getrandom": 278, "getrlimit": 163, "getuid": 174, "ioctl": 29, "kill": 129, "linkat": 37,
        "lseek": 62, "madvise": 233, "mremap": 216, "munmap": 215, "nanosleep": 101, "openat2": 437, "pipe2": 59, "ppoll": 73,
        "prctl": 167, "pread64": 67, "prlimit64": 261, "readlinkat": 78, "renameat": 38, "renameat2": 276, "rt_sigaction": 134,
        "rt_sigprocmask": 135, "sched_getaffinity": 123, "set_robust_list": 99, "setitimer": 103, "setrlimit": 164, "sigaltstack": 132,
        "socket": 198, "statfs": 43, "statx": 291, "sysinfo": 179, "syslog": 116, "umask": 166, "uname": 160, "unlinkat": 35, "wait4": 260, "writev": 66,
    },
}[os.uname().machine]  # fmt: skip

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
_ALLOW, _EPERM = 0x7FFF0000, 0x00050001


def refuse(names):
    """From now on in this process and all that it starts; for good."""
    numbers = [NUMBERS[name] for name in names if name in NUMBERS]
    program = struct.pack("HBBI", _LOAD, 0, 0, 0)
    for left, number in zip(range(len(numbers), 0, -1), numbers, strict=True):
        program += struct.pack("HBBI", _EQUAL, left, 0, number)
    program += struct.pack("HBBI", _RETURN, 0, 0, _ALLOW) + struct.pack("HBBI", _RETURN, 0, 0, _EPERM)
    code = ctypes.create_string_buffer(program, len(program))
    pointer = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(_PR_SET_SECCOMP, _FILTER, pointer, 0, 0):
        raise OSError(ctypes.get_errno(), "no seccomp filter")


if __name__ == "__main__":
    refuse(sys.argv[1].split(","))
    os.execv(sys.argv[2], sys.argv[2:])
