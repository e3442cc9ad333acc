"""The kubelet's podresources in a lane of its own: grpcio starts threads, and a kubelet that hangs costs this lane alone.

The description is light; what it needs is imported in the worker.
"""

from hostagent.facts.unread import Unread
from hostagent.source.files import Files
from hostagent.source.lane import CALL_S, LOAD_S, Ask, Lane, Rights
from hostagent.source.paths import Root

_METHOD = "podresources"
LOADING = "loading grpcio"


def _is_wanted(path: str) -> bool:
    return False


def _allowed_s(question: tuple[str, ...], label: str) -> float:
    return LOAD_S if label == LOADING else CALL_S


def _ask_all(ask: Ask, files: Files, root: Root) -> "Unread | None":
    from hostagent.source.lanes import podresourcescall

    return podresourcescall.answer_all(ask, root)


def _lock(root: Root, ends: float) -> "Unread | None":
    """Nothing is locked: no driver's state is behind the socket, and the kubelet itself limits how often it answers."""
    return None


def _end() -> None:
    """The process ends, and its threads with it."""


#: No library of a driver is loaded here: nothing that a cage would have to let it do.
_NO_RIGHTS = Rights(
    capabilities=(), sockets=True, driver="", major=-1, opens="", reads=(), data=(), memory_bytes=0, files=0
)  # fmt: skip

PODRESOURCES = Lane(
    name=_METHOD,
    methods=(_METHOD,),
    directories=(),
    is_wanted=_is_wanted,
    lock=_lock,
    allowed_s=_allowed_s,
    rights=_NO_RIGHTS,
    ask_all=_ask_all,
    end=_end,
)
