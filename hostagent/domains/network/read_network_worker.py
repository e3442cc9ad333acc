"""The network's lane: interfaces, addresses, who listens, lossless priorities. One driver that does not answer holds a lock of all.

The description is light; what it needs is imported in the worker. No library of a driver is loaded here, and no name of an interface
goes into an ioctl: the kernel would load a module of that name.
"""

# Reading `speed`, a dump of links and DCB take the lock of all interfaces (rtnl), which a driver that waits for its firmware
# holds; MTU, operstate, flags, master and sysctls take none and are asked first. SIOCGIFINDEX and its like load a kernel module
# of the interface's name for root. sock_diag loads tcp_diag.

from hostagent.core.unread import Unread
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.host.worker_reading import read_lane
from hostagent.sandbox.worker_spec import Ask, Lane, Rights, allowed_s

_METHOD = "network"
#: Of every kernel, with a file or without: what the lane's lock asks for where there can be a driver that hangs.
_MODULE = "kernel"


def _is_wanted(path: str) -> bool:
    return False


def _ask_all(ask: Ask, files: Files, root: Root) -> "Unread | None":
    from hostagent.domains.network import read_network_answers

    return read_network_answers.answer_all(ask, files, root)


def _lock(root: Root, ends: float) -> "Unread | None":
    from hostagent.host.worker_locks import hold

    return hold(_METHOD, _MODULE, root, ends)


def _end() -> None:
    """Nothing stays open."""


_NO_RIGHTS = Rights(
    capabilities=(), sockets=False, driver="", major=-1, opens="", reads=(), data=(), memory_bytes=0, files=0
)  # fmt: skip

NETWORK = Lane(
    name=_METHOD,
    methods=(_METHOD,),
    directories=(),
    is_wanted=_is_wanted,
    lock=_lock,
    allowed_s=allowed_s,
    rights=_NO_RIGHTS,
    ask_all=_ask_all,
    end=_end,
    read=read_lane,
)
