"""Lanes: what may block in one kernel driver is read by one worker, so that no driver's hang costs more than its own facts."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hostagent.core.answers import Answer
from hostagent.core.unread import Unread

#: Announces a call, makes it, sends its answer: (question or () where the parent needs no answer, label, call, seconds allowed).
Ask = Callable[..., Any]
#: Seconds one call may take. Every call on a healthy host takes a few milliseconds.
CALL_S = 1.0
#: Seconds to load this program's own parts: a cold or throttled disk, never the kernel driver.
LOAD_S = 10.0
#: Seconds to read the product data (VPD) of a card, which hands them out four bytes at a time.
VPD_S = 5.0
#: How the labels of what takes longer than a call begin.
ENTERING, LOADING, PRODUCT_DATA = "entering the cage", "loading", "product data (VPD) of"
#: What a worker does first: it waits for another one, as long as the run lasts.
LOCKING = "waiting for the lane's lock"
#: And before that: whether there is anything to ask.
LOOKING = "looking for devices"
#: Nobody's question: a worker tells so in which cage its library is asked.
SANDBOX = ("cage",)


def allowed_s(question: tuple[str, ...], label: str) -> float:
    """Seconds that a call may take, by its label: of a lane without times of its own.

    >>> allowed_s((), "loading psutil"), allowed_s(("network", "devices"), "list /sys/class/net")
    (10.0, 1.0)
    """
    if label.startswith(PRODUCT_DATA):
        return VPD_S
    return LOAD_S if label.startswith((ENTERING, LOADING)) else CALL_S


class Rights(NamedTuple):
    """What the cage (`hostagent.sandbox.library_sandbox`) leaves to a library that a worker loads."""

    #: Of root's: names of capabilities(7).
    capabilities: tuple[str, ...]
    #: Streams to unix sockets that everybody may connect to.
    sockets: bool
    #: How the driver's names begin, in /dev and in /proc/devices, and the major number of its own that is not listed there.
    driver: str
    major: int
    #: A pattern: names below /dev (``nvidia0``, ``infiniband/uverbs0``) that the library has to open.
    opens: str
    #: Where it may read, besides its own directory; and directories of its data, where there is no driver.
    reads: tuple[str, ...]
    data: tuple[str, ...]
    #: Address space, and open files.
    memory_bytes: int
    files: int
    #: The directory of sysfs whose entries have the numbers of these devices, where a major number is not theirs alone.
    numbers: str = ""


def never(files: Any) -> None:
    """There is always something to ask."""


class Lane(NamedTuple):
    """One driver's questions. They are asked in a fixed order by a worker of their own, whatever the parent asks for.

    What reads the host is handed in, in the types of `hostagent.host`: ``Files``, ``Root``.
    """

    name: str
    #: Methods that are this lane's alone, such as ``nvml``.
    methods: tuple[str, ...]
    #: Directories whose files and lists (``read``, ``list``) take the driver's locks.
    directories: tuple[str, ...]
    #: Whether a file below them is of use: reading one takes locks.
    is_wanted: Callable[[str], bool]
    #: Waits for the lane's lock, until that moment on the monotonic clock at most: why this process has it not, if so.
    lock: Callable[[Any, float], "Unread | None"]
    #: Seconds that a call may take, by question and label: what a worker says is at most that.
    allowed_s: Callable[[tuple[str, ...], str], float]
    rights: Rights
    #: Asks the methods' questions; why none could be asked, if so. ``(ask, files, root)``.
    ask_all: Callable[[Ask, Any, Any], "Unread | None"]
    #: Lets go of the driver.
    end: Callable[[], None]
    #: The worker's work: ``(lane, ask, done, root, ends)``, see `hostagent.host.worker_reading.read_lane`.
    read: Callable[..., None]
    #: Of a host that needs no worker: what is answered there, and all else is absent. None where one is needed. It must not hang.
    idle: "Callable[[Any], Mapping[tuple[str, ...], Answer | Unread] | None]" = never

    def has(self, method: str, path: str) -> bool:
        """Whether this lane answers that question."""
        return method in self.methods or (method in ("read", "list") and any(below(path, one) for one in self.directories))


def below(path: str, directory: str) -> bool:
    """Whether `path` is `directory` or lies in it."""
    return path == directory or path.startswith(directory + "/")
