"""NCCL's settings: a job's environment where one was given, and the files, by the precedence of the version found."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hostagent.facts.nccl import NcclLibrary, NcclSetting
from hostagent.facts.unread import Unread
from hostagent.knowledge.ncclchanges import Version, parse_nccl_version
from hostagent.knowledge.ncclplugins import PREFIXES, is_known, keeps_value
from hostagent.nccl.conftext import cleaned, is_setting
from hostagent.nccl.settings import ENVIRONMENT, SYSTEM_FILE, Setting, conf_files, settings
from hostagent.secret.forms import REMOVED
from hostagent.secret.people import without_people
from hostagent.source import Source
from hostagent.source.base import KIB
from hostagent.source.keep import Keep

#: Of a conf file; those that exist have ten lines.
_LIMIT = 64 * KIB
_KEEP = Keep("nccl.conf")
#: Where no library says its version: what changed between the two decides nothing, or it is unknown.
_FIRST: Version = (2, 18, 1)
_LAST: Version = (2, 32, 3)
#: Variables that name a file which a job reads.
_FILES = ("NCCL_TOPO_FILE", "NCCL_GRAPH_FILE")


class _Job(NamedTuple):
    """The environment that was given, of which nothing is left where none was."""

    given: bool
    variables: Mapping[str, str]  # "" of one whose value is not kept
    home: str
    people: tuple[str, ...]


def has_environment(source: Source) -> "bool | Unread":
    job = _job(source)
    return job if isinstance(job, Unread) else job.given


def read_settings(source: Source, libraries: "tuple[NcclLibrary, ...] | Unread") -> "tuple[NcclSetting, ...] | Unread":
    job = _job(source)
    if isinstance(job, Unread):
        return job
    found = [_read(source, job, version) for version in _versions(libraries)]
    for one in found:
        if isinstance(one, Unread):
            return one
    if len(found) == 2 and found[0] != found[1]:
        return Unread("error", "no libnccl says its version, and what NCCL reads depends on it")
    return found[-1]


def _versions(libraries: "tuple[NcclLibrary, ...] | Unread") -> tuple[Version, ...]:
    """Of the library that a job finds first. A job that brings its own has a new one."""
    if isinstance(libraries, Unread):
        return (_FIRST, _LAST)
    if not libraries:
        return (_LAST,)
    text = libraries[0].version
    version = None if isinstance(text, Unread) else parse_nccl_version(text)
    return (version,) if version else (_FIRST, _LAST)


def _read(source: Source, job: _Job, version: Version) -> "tuple[NcclSetting, ...] | Unread":
    environment = {**job.variables, **({"HOME": job.home} if job.home else {})}
    files: dict[str, str] = {}
    for path in conf_files(environment, job.home, version):
        if not path.startswith("/"):
            return Unread("error", f"NCCL_CONF_FILE is {_shown(path, job)}, which depends on the job's directory: wanted a path from /")
        text = source.text(path, _LIMIT, keep=_KEEP, absent="")
        if isinstance(text, Unread):
            return text
        files[path] = text
    found = settings(environment, files, job.home, version)
    return tuple(_setting(one, job) for one in found if _is_told(one))


def _is_told(one: Setting) -> bool:
    return one.name.startswith(PREFIXES) if one.origin == ENVIRONMENT else is_setting(one.name)


def _setting(one: Setting, job: _Job) -> NcclSetting:
    known = is_known(one.name)
    value = without_people(cleaned(one.value), job.people) if keeps_value(one.name) else REMOVED if known else ""
    return NcclSetting(one.name, value, known, _origin(one.origin, job), one.line, one.wins)


def _origin(origin: str, job: _Job) -> str:
    if origin in (ENVIRONMENT, SYSTEM_FILE):
        return origin
    return "~/.nccl.conf" if job.home and origin == f"{job.home}/.nccl.conf" else _shown(origin, job)


def _shown(path: str, job: _Job) -> str:
    return without_people(path, job.people)


def files_there(source: Source, settings: "tuple[NcclSetting, ...] | Unread") -> "tuple[str, ...] | Unread":
    return ()


def _job(source: Source) -> "_Job | Unread":
    answer = source.environment()
    return answer if isinstance(answer, Unread) else parse_job(answer)


def parse_job(answer: Mapping[str, Any]) -> "_Job | Unread":
    """What the answer says; a tape may say anything.

    >>> parse_job({"variables": {"NCCL_DEBUG": "INFO", "NCCL_X": None}, "home": "/root", "people": []}).variables
    {'NCCL_DEBUG': 'INFO', 'NCCL_X': ''}
    """
    if not answer:
        return _Job(given=False, variables={}, home="", people=())
    match answer:
        case {"variables": dict(variables), "home": str(home), "people": list(people)}:
            if all(isinstance(one, str | None) for one in variables.values()) and all(isinstance(one, str) for one in people):
                return _Job(True, {name: value or "" for name, value in variables.items()}, home, tuple(people))
    return Unread("error", "environment: found another form than variables, home and people")
