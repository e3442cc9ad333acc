"""libnccl and its plug-ins, where a job's loader and Python find them.

A file that others than root may write counts only with a job's environment: any user may put one into a directory of their own, and it
would count as the host's. A plug-in that a setting names by its path counts in any case: NCCL opens it.
"""

import re
from typing import NamedTuple

from hostagent.core.answers import NcclFile
from hostagent.core.parsing import stops_at_unread
from hostagent.core.secret.forms import REMOVED
from hostagent.core.unread import NOT_THERE, Unread, UnreadError, need, then
from hostagent.domains.nccl.read_job import Job, read_job
from hostagent.domains.nccl.read_missing import missing
from hostagent.domains.nccl.read_places import LOADERS, Candidate, candidates
from hostagent.domains.nccl.read_settings import PLUGINS, winning_paths
from hostagent.domains.nccl.read_writers import Writers
from hostagent.domains.nccl.tables import libraries as known
from hostagent.facts.nccl import NcclLibrary, NcclPlugin
from hostagent.host.source import Source

_SYMBOL = re.compile(r"nccl(Net|CollNet|Tuner|Profiler|Env|Gin|Rma)(?:Plugin)?_?v[0-9]{1,3}")


class CandidateFiles(NamedTuple):
    """Files that may be libraries or plug-ins, by name, in the order of the search."""

    candidates: tuple[Candidate, ...]
    job: Job
    search: tuple[str, ...]  # LD_LIBRARY_PATH


@stops_at_unread
def read_candidates(source: Source) -> CandidateFiles:
    job = need(read_job(source))
    search = parse_search(job.variables.get("LD_LIBRARY_PATH", ""))
    if any(REMOVED in directory for directory in search):
        raise UnreadError(Unread("error", "a directory in LD_LIBRARY_PATH has a secret in it, which is not kept"))
    return CandidateFiles(tuple(candidates(source, search, None if job.has_environment else Writers(source))), job, search)


def parse_search(text: str) -> tuple[str, ...]:
    """
    The directories of LD_LIBRARY_PATH, without what depends on the job's own directory or on the loader.

    >>> parse_search("/opt/a/lib/:::lib:/opt/a/lib:$ORIGIN/x")
    ('/opt/a/lib',)
    """
    parts = (part.rstrip("/") for part in re.split("[:;]", text))
    return tuple(dict.fromkeys(part for part in parts if part.startswith("/") and "$" not in part))


def read_libraries(source: Source, found: "CandidateFiles | Unread") -> "tuple[NcclLibrary, ...] | Unread":
    """One entry per file, in the order in which a job finds them."""
    return then(found, lambda those: tuple(_library(source, one, those.job) for one in _files(those.candidates, known.LIBRARY)))


def _library(source: Source, one: Candidate, job: Job) -> NcclLibrary:
    answer = source.nccl_library(one.real)
    return NcclLibrary(
        path=job.shown(one.real),
        place=one.place,
        version=then(answer, lambda file: file.version or _silent(one, job)),
        cuda=then(answer, lambda file: file.cuda or _silent(one, job)),
    )


def _silent(one: Candidate, job: Job) -> Unread:
    return Unread("error", f"{job.shown(one.real)}: found no text with NCCL's version in it")


@stops_at_unread
def read_plugins(source: Source, found: "CandidateFiles | Unread", libraries: "tuple[NcclLibrary, ...] | Unread") -> tuple[NcclPlugin, ...]:
    """One entry per file, by the name that the search meets first, then files elsewhere that settings name."""
    those = need(found)
    named = tuple(_named(source, path) for path in need(winning_paths(source, libraries, PLUGINS)))
    files = (*_files(those.candidates, known.PLUGIN), *filter(None, named))
    unique = {one.real: one for one in reversed(files)}
    return tuple(_plugin(source, one, those) for one in reversed(unique.values()))


def _named(source: Source, path: str) -> "Candidate | None":
    real = source.realpath(path)
    if isinstance(real, Unread):
        return None if real.why in NOT_THERE else need(real)
    return Candidate(path, "setting", real)


def _plugin(source: Source, one: Candidate, found: CandidateFiles) -> NcclPlugin:
    answer = source.nccl_library(one.real)
    return NcclPlugin(
        path=found.job.shown(one.path),
        names=_names(one, found.candidates),
        place=one.place,
        kinds=then(answer, lambda file: kinds_of(file.symbols)),
        needed=then(answer, lambda file: file.needed),
        missing=then(answer, lambda file: _missing(source, one, file, found)),
    )


def _names(one: Candidate, candidates: tuple[Candidate, ...]) -> tuple[str, ...]:
    """The names by which the loader finds it; the path's own is the first."""
    others = (other for other in candidates if other.real == one.real and (other.place in LOADERS or one.place not in LOADERS))
    return tuple(dict.fromkeys((one.name, *sorted(other.name for other in others))))


@stops_at_unread
def _missing(source: Source, one: Candidate, file: NcclFile, found: CandidateFiles) -> tuple[str, ...]:
    return missing(source, one, file, found.search)


def kinds_of(symbols: tuple[str, ...]) -> tuple[str, ...]:
    """
    What a plug-in is, by what it offers to NCCL.

    >>> kinds_of(("ncclCollNetPlugin_v8", "ncclNetPlugin_v7", "ncclNetPlugin_v8")), kinds_of(("ncclGetVersion",))
    (('collnet', 'net'), ())
    """
    return tuple(sorted({known.KINDS[match[1]] for match in map(_SYMBOL.fullmatch, symbols) if match}))


def _files(candidates: tuple[Candidate, ...], names: "re.Pattern[str]") -> tuple[Candidate, ...]:
    """The first name of each file."""
    files: dict[str, Candidate] = {}
    for one in candidates:
        if names.fullmatch(one.name):
            files.setdefault(one.real, one)
    return tuple(files.values())
