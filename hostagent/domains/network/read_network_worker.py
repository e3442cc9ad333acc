"""The network worker: interfaces, addresses, listeners, lossless priorities. One driver that hangs holds the lock of all interfaces.

The description is light; what it needs is imported in the worker. It loads no driver library and passes no interface name to an ioctl:
the kernel would load a module of that name.
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
#: On every kernel: what the worker's lock asks for where a driver can hang.
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
    """Nothing to close."""


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
