"""A forked process that streams messages to its parent, and that the parent can abandon at any moment.

A message is four bytes of length and its payload. The child keeps of its parent only the pipe and the descriptors in
`keep`, runs none of the caller's code, and ends when the parent does.
"""

import contextlib
import functools
import gc
import os
import select
import signal
import time
from collections.abc import Callable, Iterable
from typing import NoReturn

#: What a pipe may hold without privileges (pipe(7)): the child seldom waits for a busy parent.
_PIPE_BYTES = 1024 * 1024
#: Messages that `Child.receive` returns at a time.
_AT_ONCE = 1024
#: The largest length that four bytes hold.
_MAX_MESSAGE = 2**32 - 1
#: Seconds `Child.close` waits for a killed child. One that is stuck in the kernel dies when the kernel lets it.
CLOSE_S = 0.2
#: Seconds between two checks whether it has died, at most.
_PAUSE_S = 0.02
#: Seconds that the kernel gets to end a thread which was joined.
_JOINED_S = 0.1
#: More than the usual old hard limit; closing so many takes milliseconds.
_MAX_DESCRIPTORS = 65536
#: Reset always: the parent's faulthandler, which would write to a closed file, is not visible to `signal.getsignal`.
_FAULTS = (signal.SIGSEGV, signal.SIGFPE, signal.SIGABRT, signal.SIGBUS, signal.SIGILL)

Send = Callable[[bytes], None]

#: The functions of `signal`, from Python 3.11 on without its enumeration: making a member for each of sixty signals costs time.
set_mask: "Callable[[int, Iterable[int]], Iterable[int]]" = getattr(signal.pthread_sigmask, "__wrapped__", signal.pthread_sigmask)
handler_of: "Callable[[int], object]" = getattr(signal.getsignal, "__wrapped__", signal.getsignal)

#: Killed children of this process that have not died yet: the kernel holds them.
_unreaped: list[int] = []


class Child:
    """A child process, from its parent."""

    def __init__(self) -> None:
        self.pid = 0  # before `start` and after `close`
        self.pipe = -1
        self._buffer = bytearray()  # grows in place: a long message is not copied with every piece of it

    def start(self, run: Callable[[Send], None], keep: Iterable[int] = ()) -> None:
        """Fork; the child calls `run` with a function that sends one message, and ends. `keep`: descriptors it needs.

        Fork early, from a thread that lives as long as the child: the child dies with that thread. Raises ``OSError`` on a
        host that is out of processes or descriptors, ``RuntimeError`` in a process with more than one thread: only the
        forking thread exists in the child, where a lock that another thread holds is never released.
        """
        refuse_threads()
        _reap(*_unreaped)
        self.pipe, theirs = os.pipe()
        with contextlib.suppress(OSError):  # pipe-user-pages-soft is reached: a small pipe works too
            _set_pipe_size(theirs)
        # A signal before `settle` would run the caller's handlers in the child.
        blocked = set_mask(signal.SIG_BLOCK, every_signal())
        parent = os.getpid()
        try:
            self.pid = os.fork()
            if self.pid == 0:
                _live(run, theirs, parent, keep)
        except OSError:
            os.close(self.pipe)
            raise
        finally:
            os.close(theirs)
            set_mask(signal.SIG_SETMASK, blocked)

    def receive(self, timeout_s: float, longest: int = _MAX_MESSAGE) -> "list[bytes] | None":
        """The messages received within `timeout_s`: ``[]`` when none is complete yet, None when the child has closed its end.
        Raises ``OverflowError`` for one of more than `longest` bytes.
        """
        messages = self._whole(longest)
        if messages:
            return messages
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        if not poll.poll(max(timeout_s, 0) * 1000):
            return []
        data = os.read(self.pipe, _PIPE_BYTES)
        if not data:
            return None
        self._buffer += data
        return self._whole(longest)

    def _whole(self, longest: int) -> list[bytes]:
        """Complete messages in the buffer, at most `_AT_ONCE`: the caller has a deadline to check."""
        messages: list[bytes] = []
        start = 0
        while len(messages) < _AT_ONCE and len(self._buffer) >= (begin := start + 4):
            size = int.from_bytes(self._buffer[start:begin], "little")
            if size > longest and not messages:  # return those before it first
                raise OverflowError(f"a message of {size} bytes, wanted at most {longest}")
            if size > longest or len(self._buffer) < begin + size:
                break
            messages.append(bytes(self._buffer[begin : begin + size]))
            start = begin + size
        del self._buffer[:start]
        return messages

    @property
    def cpu_s(self) -> float:
        """Seconds of processor time used; 0 after its end (clock_getcpuclockid(3), as Linux computes the clock id)."""
        try:
            return time.clock_gettime((~self.pid << 3) | 2)
        except OSError:
            return 0

    @property
    def state(self) -> str:
        """The state letter of proc_pid_stat(5), "" where it cannot be read."""
        try:
            with open(f"/proc/{self.pid}/stat", "rb") as stream:
                return stream.read().rpartition(b") ")[2][:1].decode()
        except OSError:
            return ""

    def hand_over(self) -> None:
        """Close this end of the pipe: another process reads from the child, this one only ends it."""
        os.close(self.pipe)
        self.pipe = -1

    def close(self) -> int:
        """Kill the child and reap it. Returns 0, or its process id if it is stuck in the kernel and was left there."""
        if not self.pid:
            return 0
        if self.pipe >= 0:
            self.hand_over()
        with contextlib.suppress(ProcessLookupError, PermissionError):  # a security module may refuse
            os.kill(self.pid, signal.SIGKILL)
        _unreaped.append(self.pid)
        ends = time.monotonic() + CLOSE_S
        pause_s = 0.0005
        _reap(self.pid)
        while self.pid in _unreaped and time.monotonic() < ends:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _PAUSE_S)
            _reap(self.pid)
        pid, self.pid = self.pid, 0
        return pid if pid in _unreaped else 0


def _reap(*pids: int) -> None:
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                continue
        _unreaped.remove(pid)


@functools.cache
def every_signal() -> frozenset[int]:
    """Cached: building the set costs as much as the rest of a start."""
    return frozenset(signal.valid_signals())


def refuse_threads() -> None:
    """Raises ``RuntimeError`` where this process has more than one thread.

    Waits for threads that were joined: ``Thread.join`` returns a moment before the kernel has removed the thread.
    """
    ends = time.monotonic() + _JOINED_S
    while (threads := _threads()) > 1:
        if time.monotonic() > ends:
            raise RuntimeError(
                f"found {threads} threads in this process, wanted one: fork before threads start, or from a process without any"
            )
        time.sleep(0.001)


def _threads() -> int:
    """Number of threads of this process; 1 without /proc."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


def settle(parent: int, keep: Iterable[int]) -> None:
    """Set up a forked child: default signal handlers, no core file, only the descriptors in `keep`, killed when `parent` ends."""
    import resource

    from hostagent.sandbox.privileges import die_with

    keep = set(keep)
    signal.set_wakeup_fd(-1)
    usual = {signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGALRM, *_FAULTS}
    for number in usual.union(one for one in every_signal() if callable(handler_of(one))):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends the child
    set_mask(signal.SIG_SETMASK, ())  # blocked over the fork
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a library that crashes must not leave a core file
    die_with(parent)
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in {0, 1, 2} - keep:
        os.dup2(null, descriptor)
    close_all_but(keep | {0, 1, 2})


def close_all_but(kept: Iterable[int]) -> None:
    """Close all other open descriptors, by /proc: trying every number takes minutes where the limit is a billion."""
    try:
        names = set(map(int, os.listdir("/proc/self/fd")))
    except OSError:  # no /proc
        names = set(range(_MAX_DESCRIPTORS))
    for descriptor in names.difference(kept):
        with contextlib.suppress(OSError):  # the descriptor of the listing is closed already
            os.close(descriptor)


def _live(run: Callable[[Send], None], pipe: int, parent: int, keep: Iterable[int]) -> NoReturn:
    """Run the child and exit here in any case: it must never return into the caller's code."""
    try:
        settle(parent, (pipe, *keep))
        gc.disable()  # a collection would copy every page of the parent's objects

        def send(message: bytes) -> None:
            data = len(message).to_bytes(4, "little") + message
            while data:
                data = data[os.write(pipe, data) :]

        with contextlib.suppress(BrokenPipeError):  # the parent has closed its end
            run(send)
    finally:
        os._exit(0)


def _set_pipe_size(pipe: int) -> None:
    import fcntl

    fcntl.fcntl(pipe, 1031, _PIPE_BYTES)  # F_SETPIPE_SZ: Python 3.10 has no name for it
