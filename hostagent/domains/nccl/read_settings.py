"""NCCL's settings: a job's environment where one was given, and the files, by the precedence of the version found."""

# Quotes belong to a value: `env` and `docker --env-file` take lines as they are, so `NCCL_IB_HCA="mlx5_0"` is a fault that NCCL
# sees. Before 2.30.3 NCCL takes the home from passwd by the user of the process, which an environment does not say: a container
# that sets HOME reads another file. A host without any library is judged by the newest precedence.

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.secret.forms import REMOVED
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.nccl.conf_text import cleaned, is_setting
from hostagent.domains.nccl.read_job import Job, read_job
from hostagent.domains.nccl.settings import ENVIRONMENT, SYSTEM_FILE, Setting, conf_files, settings
from hostagent.domains.nccl.tables.changes import CONF_FILE, NEWEST, Version, parse_nccl_version
from hostagent.domains.nccl.tables.plugins import PREFIXES, is_known, keeps_value
from hostagent.facts.nccl import NcclLibrary, NcclSetting
from hostagent.host.source import Source

_KEEP = Keep("nccl.conf")
#: Settings of a host; those that exist have ten.
_MOST = 2000
#: Where no library says its version: what changed between this and the newest decides nothing, or it is unknown.
_FIRST: Version = (2, 18, 1)
#: Variables that name a file which a job reads, and that the host may lack.
_FILES = ("NCCL_TOPO_FILE", "NCCL_GRAPH_FILE")
#: And a plug-in, or several.
PLUGINS = (
    "NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN", "NCCL_ENV_PLUGIN", "NCCL_GIN_PLUGIN", "NCCL_RMA_PLUGIN",
)  # fmt: skip
#: Files that a plug-in writes for its own process only, such as the topology of aws-ofi-nccl.
_OWN = ("/proc/self/", "/proc/thread-self/", "/dev/fd/")


def has_environment(source: Source) -> "bool | Unread":
    job = read_job(source)
    return job if isinstance(job, Unread) else job.has_environment


@stops_at_unread
def read_settings(source: Source, libraries: "tuple[NcclLibrary, ...] | Unread") -> tuple[NcclSetting, ...]:
    job = need(read_job(source))
    return tuple(_setting(one, job) for one in _stable_settings(source, job, libraries))


@stops_at_unread
def files_there(source: Source, libraries: "tuple[NcclLibrary, ...] | Unread") -> tuple[str, ...]:
    """The files named in settings that exist, by their absolute paths as in the values."""
    job = need(read_job(source))
    named = need(winning_paths(source, libraries, (*_FILES, *PLUGINS)))
    if any(REMOVED in path for path in named):
        raise UnreadError(Unread("error", "a path in NCCL's settings has a secret in it, which is not kept"))
    return tuple(job.shown(cleaned(path)) for path in named if path.startswith(_OWN) or need(source.exists(path)))


@stops_at_unread
def winning_paths(source: Source, libraries: "tuple[NcclLibrary, ...] | Unread", names: tuple[str, ...]) -> tuple[str, ...]:
    """Paths from / on that the winning settings of these names hold, as they are written; of a list of plug-ins each."""
    found = (one for one in _stable_settings(source, need(read_job(source)), libraries) if one.wins and one.name in names)
    paths = (path for one in found for path in (one.value.split(",") if one.name in PLUGINS else (one.value,)))
    return tuple(dict.fromkeys(path for path in paths if path.startswith("/")))


def _stable_settings(source: Source, job: Job, libraries: "tuple[NcclLibrary, ...] | Unread") -> tuple[Setting, ...]:
    """The settings; unread where they depend on an unknown version. Raises ``UnreadError``."""
    found = [_read(source, job, version) for version in _versions(libraries)]
    if found[0] != found[-1]:
        raise UnreadError(Unread("error", "no libnccl says its version, and what NCCL reads depends on it"))
    if len(found[0]) > _MOST:
        raise UnreadError(Unread("error", f"NCCL's settings are {len(found[0])}, wanted at most {_MOST}"))
    return found[0]


def _versions(libraries: "tuple[NcclLibrary, ...] | Unread") -> tuple[Version, ...]:
    """Possible versions of the library that a job finds first. A job that brings its own has the newest."""
    if isinstance(libraries, Unread):
        return (_FIRST, NEWEST)
    if not libraries:
        return (NEWEST,)
    text = libraries[0].version
    version = None if isinstance(text, Unread) else parse_nccl_version(text)
    return (version,) if version else (_FIRST, NEWEST)


def _read(source: Source, job: Job, version: Version) -> tuple[Setting, ...]:
    files: dict[str, str] = {}
    for path in conf_files(job.variables, job.home, version):
        _refuse_relative(path, job, version)
        files[path] = need(source.text(path, keep=_KEEP, absent=""))
    return tuple(one for one in settings(job.variables, files, job.home, version) if _is_reported(one))


def _refuse_relative(path: str, job: Job, version: Version) -> None:
    named = version >= CONF_FILE and path == job.variables.get("NCCL_CONF_FILE")
    if REMOVED in path or not path.startswith("/"):
        variable = "NCCL_CONF_FILE" if named else "HOME"
        why = "has a secret in it" if REMOVED in path else "depends on the job's directory: wanted a path from /"
        raise UnreadError(Unread("error", f"{variable} leads to {job.shown(path)}, which {why}"))


def _is_reported(one: Setting) -> bool:
    return one.name.startswith(PREFIXES) if one.origin == ENVIRONMENT else is_setting(one.name)


def _setting(one: Setting, job: Job) -> NcclSetting:
    known = is_known(one.name)
    value = job.shown(cleaned(one.value)) if keeps_value(one.name) else REMOVED if known else ""
    return NcclSetting(one.name, value, known, _origin(one.origin, job), one.line, one.wins)


def _origin(origin: str, job: Job) -> str:
    if origin in (ENVIRONMENT, SYSTEM_FILE):
        return origin
    return "~/.nccl.conf" if origin == f"{job.home}/.nccl.conf" else job.shown(origin)
