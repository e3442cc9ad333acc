"""libnccl and its plug-ins, where a job's loader and Python find them."""

from hostagent.facts.nccl import NcclLibrary, NcclPlugin
from hostagent.facts.unread import Unread
from hostagent.source import Source


def read_libraries(source: Source) -> "tuple[NcclLibrary, ...] | Unread":
    return ()


def read_plugins(source: Source) -> "tuple[NcclPlugin, ...] | Unread":
    return ()
