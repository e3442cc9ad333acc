"""The Slurm node of this host, from the files that slurmd reads; nothing is read if slurmd is not in use."""

import re
from collections.abc import Callable, Iterator
from posixpath import dirname, join
from typing import Any

from hostagent.core.parsing import Allowance, at_most, parse_number, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import NOT_THERE, Unread, UnreadError, need, then
from hostagent.domains.slurm.conf import (
    CONTROLLERS,
    ENVIRONMENTS,
    FOLDERS,
    NODES,
    Conf,
    Line,
    hosts,
    in_hostlist,
    only_controls,
    parse_conf,
)
from hostagent.facts.runtime import Launchers
from hostagent.facts.slurm import Gres, SlurmNode
from hostagent.host.source import Source

_SLURM_CONF = re.compile(r"^(?:export[ \t]+)?SLURM_CONF=[\"']?(/[^\s\"']+)", re.MULTILINE)
_SERVER = re.compile(r"^[^\n#]*(?P<keep>--conf-server)\b", re.MULTILINE)
#: slurmd -N NAME, and -Z of a dynamic node: the node name is not the host name.
_RENAMED = re.compile(r"^[^\n#]*?(?P<keep>[\s\"'=]-[NZ])", re.MULTILINE)
_ENVIRONMENT = Keep("matches", (r"^(?:export[ \t]+)?SLURM_CONF=\S+", _SERVER.pattern, _RENAMED.pattern))
_CONF = Keep("slurm.conf", ("healthcheckinterval", "healthcheckprogram", "include", "maxnodecount", *NODES, *CONTROLLERS))
_GRES = Keep("slurm.conf", ("autodetect", "count", "file", "include", "multiplefiles", "name", "nodename", "type"))
#: On a line that is no comment: the program itself, or the shipped script that runs it.
_OURS = re.compile(r"^[^\n#]*(?P<keep>(?i:hostagent)(?:-health\.sh|[^\n#]{0,200}[ \t]slurm[ \t]+health))\b", re.MULTILINE)
_PROGRAM = Keep("matches", (_OURS.pattern,))
_MOST_FILES, _MOST_DEPTH, _MOST_LINES, _MOST_DEVICES = 20, 5, 512, 1024
_FACTORS = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def read_slurm(source: Source, known: Callable[[type], Any]) -> SlurmNode:
    in_use = then(known(Launchers), lambda one: one.slurmd)
    if in_use is not True:
        gap = in_use if isinstance(in_use, Unread) else Unread("absent", "slurmd is not in use here")
        return SlurmNode(gap, gap, gap, gap, gap, gap, gap, gap, gap)
    environment = _environment(source)
    path = _path(source, environment)
    conf = then(path, lambda one: _read(source, one, _CONF))
    program = then(conf, lambda one: one.value("HealthCheckProgram"))
    folder = then(path, dirname)
    lines = _gres_conf(source, folder)
    gres = then(lines, gres_of)
    return SlurmNode(
        conf=path,
        only_controls=_only_controls(source, environment, conf),
        configless=then(environment, lambda text: bool(_SERVER.search(text))),
        health_program=program,
        health_interval_s=then(conf, lambda one: parse_number(one.value("HealthCheckInterval", "0"), "HealthCheckInterval")),
        health_is_ours=then(program, lambda one: _is_ours(source, one)),
        gres=gres,
        autodetect=then(lines, autodetect_of),
        missing_files=then(gres, lambda found: _missing(source, found)),
    )


@stops_at_unread
def _environment(source: Source) -> str:
    return "\n".join(need(source.text(path, keep=_ENVIRONMENT, absent="")) for path in ENVIRONMENTS)


@stops_at_unread
def _path(source: Source, environment: "str | Unread") -> str:
    if found := _SLURM_CONF.findall(need(environment)):
        return str(found[-1])
    for folder in FOLDERS:
        path = f"{folder}/slurm.conf"
        if _is_there(source, path):
            return path
    raise UnreadError(Unread("absent", "no slurm.conf"))


def _is_there(source: Source, path: str) -> bool:
    stat = source.stat(path)
    if isinstance(stat, Unread) and stat.why in NOT_THERE:
        return False
    return need(stat).kind == "file"


@stops_at_unread
def _only_controls(source: Source, environment: "str | Unread", conf: "Conf | Unread") -> bool:
    lines = need(conf)
    return not _RENAMED.search(need(environment)) and only_controls(lines, _own_names(source))


def _own_names(source: Source) -> tuple[str, ...]:
    """The host name, and its first label. Raises ``UnreadError``."""
    name = str(need(source.host()).get("hostname", ""))
    return tuple(dict.fromkeys((name, name.partition(".")[0])))


@stops_at_unread
def _read(source: Source, path: str, keep: Keep) -> Conf:
    """A file with its `Include` lines replaced by the included files."""
    allowance = Allowance("files of Slurm's configuration", _MOST_FILES)
    return Conf(tuple(_lines(source, path, keep, allowance, _MOST_DEPTH)))


def _lines(source: Source, path: str, keep: Keep, allowance: Allowance, depth: int) -> Iterator[Line]:
    """Raises ``UnreadError``."""
    allowance.take(1)
    for line in parse_conf(need(source.text(path, keep=keep))).lines:
        if line[0][0] != "include":
            yield line
            continue
        if "%" in line[0][1] or not depth:
            raise UnreadError(Unread("error", f"{path}: which file 'Include {line[0][1][:80]}' names is not read"))
        yield from _lines(source, join(dirname(path), line[0][1]), keep, allowance, depth - 1)


@stops_at_unread
def _gres_conf(source: Source, folder: "str | Unread") -> tuple[Line, ...]:
    """The lines about this node: those that name it, and those without a node."""
    path = f"{need(folder)}/gres.conf"
    if not _is_there(source, path):
        raise UnreadError(Unread("absent", f"no {path}"))
    name = _own_names(source)[-1]
    return tuple(line for line in need(_read(source, path, _GRES)).lines if "nodename" not in dict(line) or _names(line, name))


def _names(line: Line, host: str) -> bool:
    return in_hostlist(host, dict(line)["nodename"])


@stops_at_unread
def gres_of(lines: tuple[Line, ...]) -> tuple[Gres, ...]:
    """The resources of these lines."""
    try:
        return tuple(at_most(_MOST_LINES, "lines of resources", (_gres(dict(line)) for line in lines if "name" in dict(line))))
    except ValueError as error:
        raise UnreadError(Unread("error", f"gres.conf: {error}")) from error


def _gres(row: dict[str, str]) -> Gres:
    """Raises ``ValueError``."""
    in_parts = "multiplefiles" in row
    files = tuple(at_most(_MOST_DEVICES, "files of one line", hosts(row["multiplefiles"] if in_parts else row.get("file", ""))))
    return Gres(row["name"].lower(), row.get("type", ""), _count(row.get("count", "")), files, in_parts)


def _count(text: str) -> int:
    """A number with an optional factor: ``4K`` (gres.conf(5)). Raises ``ValueError``."""
    found = re.fullmatch(r"([0-9]{1,12})([kmgt]?)", text.lower(), re.ASCII)
    if text and not found:
        raise ValueError(f"found Count={text[:40]}, wanted a number")
    return int(found[1]) * _FACTORS.get(found[2], 1) if found else 0


def autodetect_of(lines: tuple[Line, ...]) -> str:
    """The value in the last line that names this node, else in the last without a node."""
    values = [(("nodename" in row), row["autodetect"].lower()) for row in map(dict, lines) if "autodetect" in row]
    own = [value for is_own, value in values if is_own]
    return (own or [value for _, value in values] or [""])[-1]


@stops_at_unread
def _missing(source: Source, gres: tuple[Gres, ...]) -> tuple[str, ...]:
    paths = dict.fromkeys(path for one in gres if one.name == "gpu" for path in one.files if path.startswith("/"))
    Allowance("device files in gres.conf", _MOST_DEVICES).take(len(paths))
    return tuple(path for path in paths if not _is_device(source, path))


def _is_device(source: Source, path: str) -> bool:
    """Whether the path is a device; an image has none. Raises ``UnreadError``."""
    stat = source.stat(path)
    return not (isinstance(stat, Unread) and stat.why == "absent") and need(stat).kind == "char"


@stops_at_unread
def _is_ours(source: Source, program: str) -> bool:
    return bool(program) and bool(_OURS.search(need(source.text(program, keep=_PROGRAM))))
