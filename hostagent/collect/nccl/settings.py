"""NCCL's settings: a job's environment where one was given, and the files, by the precedence of the version found."""

from hostagent.facts.nccl import NcclLibrary, NcclSetting
from hostagent.facts.unread import Unread
from hostagent.source import Source


def has_environment(source: Source) -> "bool | Unread":
    return False


def read_settings(source: Source, libraries: "tuple[NcclLibrary, ...] | Unread") -> "tuple[NcclSetting, ...] | Unread":
    return ()


def files_there(source: Source, settings: "tuple[NcclSetting, ...] | Unread") -> "tuple[str, ...] | Unread":
    return ()
