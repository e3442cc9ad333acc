"""The Slurm node of this host, from the files that slurmd reads; nothing is read if slurmd is not in use."""

import re
from collections.abc import Callable
from posixpath import dirname
from typing import Any

from hostagent.core.parsing import Allowance, at_most, parse_number, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import NOT_THERE, Unread, UnreadError, need, then
from hostagent.domains.slurm.conf import CACHES, CONTROLLERS, FOLDERS, NODES, Conf, Line, hosts, in_hostlist, only_controls
from hostagent.domains.slurm.read_conf import RENAMED, SERVER, SLURM_CONF, is_there, own_names, read_conf, read_environment
from hostagent.domains.slurm.read_munge import read_munge
from hostagent.domains.slurm.read_node import expects_slurmd
from hostagent.facts.host import Machine, Services
from hostagent.facts.runtime import Launchers
from hostagent.facts.slurm import Gres, SlurmNode
from hostagent.host.source import Source

_CONF = Keep("slurm.conf", ("healthcheckinterval", "healthcheckprogram", "include", "maxnodecount", *NODES, *CONTROLLERS))
_GRES = Keep("slurm.conf", ("autodetect", "count", "file", "include", "multiplefiles", "name", "nodename", "type"))
#: On a line that is no comment: the program itself, or the shipped script that runs it.
_OURS = re.compile(r"^[^\n#]*(?P<keep>(?i:hostagent)(?:-health\.sh|[^\n#]{0,200}[ \t]slurm[ \t]+health))\b", re.MULTILINE)
_PROGRAM = Keep("matches", (_OURS.pattern,))
#: There is none, or the recording was made before it was looked for.
_NONE = (*NOT_THERE, "older-recording")
_MOST_LINES, _MOST_DEVICES = 512, 1024
_FACTORS = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def read_slurm(source: Source, known: Callable[[type], Any]) -> SlurmNode:
    launchers, services = known(Launchers), known(Services)
    in_use = then(launchers, lambda one: one.slurmd)
    if in_use is not True:
        gap = in_use if isinstance(in_use, Unread) else Unread("absent", "slurmd is not in use here")
        return SlurmNode(gap, gap, gap, gap, gap, gap, gap, gap, gap, gap, gap)
    environment = read_environment(source)
    path = _path(source, environment)
    conf = then(path, lambda one: read_conf(source, one, _CONF))
    program = then(conf, lambda one: one.value("HealthCheckProgram"))
    folder = then(path, dirname)
    lines = _gres_conf(source, folder)
    gres = then(lines, gres_of)
    return SlurmNode(
        conf=path,
        only_controls=_only_controls(source, environment, conf),
        expected=expects_slurmd(source, services, then(launchers, lambda one: one.kubelets)),
        configless=_configless(source, environment, path),
        health_program=program,
        health_interval_s=then(conf, lambda one: parse_number(one.value("HealthCheckInterval", "0"), "HealthCheckInterval")),
        health_is_ours=then(program, lambda one: _is_ours(source, one)),
        gres=gres,
        autodetect=then(lines, autodetect_of),
        missing_files=then(gres, lambda found: _missing(source, found)),
        munge_serves=then(path, lambda one: read_munge(source, services, known(Machine), one)),
    )


@stops_at_unread
def _path(source: Source, environment: "str | Unread") -> str:
    if found := SLURM_CONF.findall(need(environment)):
        return str(found[-1])
    for folder in FOLDERS:
        path = f"{folder}/slurm.conf"
        if is_there(source, path):
            return path
    raise UnreadError(Unread("absent", "no slurm.conf"))


@stops_at_unread
def _configless(source: Source, environment: "str | Unread", path: "str | Unread") -> bool:
    """Whether slurmd's options name a server; or, without a slurm.conf, whether an earlier slurmd has left its copies here."""
    if SERVER.search(need(environment)):
        return True
    if not (isinstance(path, Unread) and path.why == "absent"):
        return False
    there = [source.stat(f"{folder}/slurm.conf") for folder in CACHES]
    return any(need(one).kind == "file" for one in there if not (isinstance(one, Unread) and one.why in _NONE))


@stops_at_unread
def _only_controls(source: Source, environment: "str | Unread", conf: "Conf | Unread") -> bool:
    lines = need(conf)
    return not RENAMED.search(need(environment)) and only_controls(lines, own_names(source))


@stops_at_unread
def _gres_conf(source: Source, folder: "str | Unread") -> tuple[Line, ...]:
    """The lines about this node: those that name it, and those without a node."""
    path = f"{need(folder)}/gres.conf"
    if not is_there(source, path):
        raise UnreadError(Unread("absent", f"no {path}"))
    name = own_names(source)[-1]
    return tuple(line for line in need(read_conf(source, path, _GRES)).lines if "nodename" not in dict(line) or _names(line, name))


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
