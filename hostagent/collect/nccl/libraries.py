"""libnccl and its plug-ins, where a job's loader and Python find them.

A file that others than root may write counts only where a job's environment was given: anyone may put one into a directory of
their own, and it would speak for the host.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from hostagent.collect.nccl.missing import missing
from hostagent.collect.nccl.places import Candidate, candidates
from hostagent.collect.nccl.writers import Writers
from hostagent.collect.values import stops_at_unread
from hostagent.facts.nccl import NcclLibrary, NcclPlugin
from hostagent.facts.unread import Unread, need, then
from hostagent.knowledge import nccllibraries as known
from hostagent.source import Source
from hostagent.source.answers import NcclFile

_SYMBOL = re.compile(r"nccl(Net|CollNet|Tuner|Profiler|Env|Gin|Rma)(?:Plugin)?_?v[0-9]{1,3}")


class Found(NamedTuple):
    """The files that count, by name, in the order of the search."""

    candidates: tuple[Candidate, ...]
    search: tuple[str, ...]  # LD_LIBRARY_PATH


@stops_at_unread
def read_found(source: Source) -> Found:
    environment = need(source.environment())
    search = search_of(environment)
    found = tuple(candidates(source, search))
    if environment:
        return Found(found, search)
    writers = Writers(source)
    return Found(tuple(one for one in found if writers.is_roots(one.real)), search)


def search_of(answer: Mapping[str, Any]) -> tuple[str, ...]:
    """
    LD_LIBRARY_PATH of the job's environment, without what depends on the job's own directory or on the loader.

    >>> search_of({"variables": {"LD_LIBRARY_PATH": "/opt/a/lib/:::lib:/opt/a/lib:$ORIGIN/x"}})
    ('/opt/a/lib',)
    """
    variables = answer.get("variables")
    text = variables.get("LD_LIBRARY_PATH") if isinstance(variables, dict) else None
    parts = re.split("[:;]", text if isinstance(text, str) else "")
    return tuple(dict.fromkeys(part.rstrip("/") for part in parts if part.startswith("/") and "$" not in part and part.strip("/")))


def read_libraries(source: Source, found: "Found | Unread") -> "tuple[NcclLibrary, ...] | Unread":
    """One entry a file, in the order in which a job finds them."""
    return then(found, lambda those: tuple(_library(source, one) for one in _files(those, known.LIBRARY)))


def _library(source: Source, one: Candidate) -> NcclLibrary:
    said = source.nccl_library(one.real)
    return NcclLibrary(
        path=one.real,
        place=one.place,
        version=then(said, lambda file: file.version or _silent(one)),
        cuda=then(said, lambda file: file.cuda or _silent(one)),
    )


def _silent(one: Candidate) -> Unread:
    return Unread("error", f"{one.real}: found no text with NCCL's version in it")


def read_plugins(source: Source, found: "Found | Unread") -> "tuple[NcclPlugin, ...] | Unread":
    """One entry a file, by the name that the search meets first."""
    return then(found, lambda those: tuple(_plugin(source, one, those) for one in _files(those, known.PLUGIN)))


def _plugin(source: Source, one: Candidate, found: Found) -> NcclPlugin:
    said = source.nccl_library(one.real)
    return NcclPlugin(
        path=one.path,
        place=one.place,
        names=tuple(sorted({_name(other) for other in found.candidates if other.real == one.real})),
        kinds=then(said, lambda file: kinds_of(file.symbols)),
        needed=then(said, lambda file: file.needed),
        missing=then(said, lambda file: _missing(source, one, file, found)),
    )


@stops_at_unread
def _missing(source: Source, one: Candidate, file: NcclFile, found: Found) -> tuple[str, ...]:
    return missing(source, one, file, found.search)


def kinds_of(symbols: tuple[str, ...]) -> tuple[str, ...]:
    """
    What a plug-in is, by what it offers to NCCL.

    >>> kinds_of(("ncclCollNetPlugin_v8", "ncclNetPlugin_v7", "ncclNetPlugin_v8")), kinds_of(("ncclGetVersion",))
    (('collnet', 'net'), ())
    """
    return tuple(sorted({known.KINDS[match[1]] for match in map(_SYMBOL.fullmatch, symbols) if match}))


def _name(one: Candidate) -> str:
    return one.path.rpartition("/")[2]


def _files(found: Found, names: "re.Pattern[str]") -> tuple[Candidate, ...]:
    """Of each file the first name."""
    files: dict[str, Candidate] = {}
    for one in found.candidates:
        if names.fullmatch(_name(one)):
            files.setdefault(one.real, one)
    return tuple(files.values())
