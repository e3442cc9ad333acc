"""Lanes: one worker per kernel driver makes the calls that may block in it, so that a hanging driver costs only its own facts."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hostagent.core.answers import Answer
from hostagent.core.unread import Unread

#: Announces a call, makes it, sends the answer: (question or () where the parent needs no answer, label, call, seconds allowed).
Ask = Callable[..., Any]
#: Seconds one call may take. Every call on a healthy host takes a few milliseconds.
CALL_S = 1.0
#: Seconds to import hostagent's own modules: from a cold or throttled disk, never a kernel driver.
LOAD_S = 10.0
#: Seconds to read the product data (VPD) of a card, which returns four bytes at a time.
VPD_S = 5.0
#: Labels of steps that take longer than a call begin so.
ENTERING, LOADING, PRODUCT_DATA = "entering the cage", "loading", "product data (VPD) of"
#: The first step of a worker: it waits for the lane's lock, as long as the run lasts.
LOCKING = "waiting for the lane's lock"
#: Before that: whether there is anything to ask.
LOOKING = "looking for devices"
#: No reader asks it: a worker reports by it the sandbox of its library.
SANDBOX = ("cage",)


def allowed_s(question: tuple[str, ...], label: str) -> float:
    """Seconds that a call may take, by its label; the default of lanes.

    >>> allowed_s((), "loading psutil"), allowed_s(("network", "devices"), "list /sys/class/net")
    (10.0, 1.0)
    """
    if label.startswith(PRODUCT_DATA):
        return VPD_S
    return LOAD_S if label.startswith((ENTERING, LOADING)) else CALL_S


class Rights(NamedTuple):
    """What the sandbox (`hostagent.sandbox.library_sandbox`) allows to a library that a worker loads."""

    #: Of root: names of capabilities(7).
    capabilities: tuple[str, ...]
    #: Whether it may connect to unix sockets that every user may connect to.
    sockets: bool
    #: Prefix of the driver's names in /dev and /proc/devices, and a major number of it that is not listed there.
    driver: str
    major: int
    #: A pattern: names below /dev (``nvidia0``, ``infiniband/uverbs0``) that the library has to open.
    opens: str
    #: Directories it may read apart from its own; and those of its data, which also a tree without a driver has.
    reads: tuple[str, ...]
    data: tuple[str, ...]
    #: Address space, and open files.
    memory_bytes: int
    files: int
    #: Directory of sysfs with the numbers of these devices, where other drivers share the major number.
    numbers: str = ""


def never(files: Any) -> None:
    """There is always something to ask."""


class Lane(NamedTuple):
    """The questions of one driver. Its worker asks them all in a fixed order, whatever the parent asks for.

    Functions get readers of the host as arguments, of the types ``Files`` and ``Root`` of `hostagent.host`.
    """

    name: str
    #: Methods that only this lane answers, such as ``nvml``.
    methods: tuple[str, ...]
    #: Directories in which ``read`` and ``list`` take the driver's locks.
    directories: tuple[str, ...]
    #: Whether a file below them is of use: reading one takes locks.
    is_wanted: Callable[[str], bool]
    #: Waits for the lane's lock until that time on the monotonic clock; ``Unread`` where it did not get it.
    lock: Callable[[Any, float], "Unread | None"]
    #: Seconds that a call may take, by question and label; caps what a worker sends.
    allowed_s: Callable[[tuple[str, ...], str], float]
    rights: Rights
    #: Asks the questions of the methods; ``Unread`` where none could be asked. ``(ask, files, root)``.
    ask_all: Callable[[Ask, Any, Any], "Unread | None"]
    #: Releases the driver.
    end: Callable[[], None]
    #: Runs the worker: ``(lane, ask, done, root, ends)``, see `hostagent.host.worker_reading.read_lane`.
    read: Callable[..., None]
    #: The answers on a host that needs no worker, all others are absent; None where one is needed. It must not hang.
    idle: "Callable[[Any], Mapping[tuple[str, ...], Answer | Unread] | None]" = never

    def has(self, method: str, path: str) -> bool:
        """Whether this lane answers the question."""
        return method in self.methods or (method in ("read", "list") and any(below(path, one) for one in self.directories))


def below(path: str, directory: str) -> bool:
    """Whether `path` is `directory` or lies in it."""
    return path == directory or path.startswith(directory + "/")
