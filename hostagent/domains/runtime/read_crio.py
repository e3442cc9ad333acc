"""CRI-O's configuration: crio.conf and, over it, the drop-ins of crio.conf.d in the order of their names (crio.conf.d(5))."""

# From CRI-O's documentation only: no program was measured.

from collections.abc import Mapping
from typing import Any, NamedTuple

from hostagent.core.parsing import Allowance, stops_at_unread
from hostagent.core.toml import TomlError, parse_toml
from hostagent.core.unread import Unread
from hostagent.domains.runtime.retention import CRIO
from hostagent.domains.runtime.tables.versions import CRIO_CRUN_DEFAULT, CRIO_HOOKS, SPEC_DIRS
from hostagent.facts.version import compare_deb
from hostagent.host.source import Source

MAIN = "/etc/crio/crio.conf"
DROP_INS = "/etc/crio/crio.conf.d"
#: The directory of toolkit 1.19.0's drop-in, which CRI-O does not read.
WRONG_DROP_INS = "/etc/crio/conf.d"
_MAX_BYTES, _MOST_BYTES = 256 * 1024, 1024 * 1024
_MAX_FILES = 100


class CrioConfigError(ValueError):
    """CRI-O rejects this configuration; the message has the reason."""


class Crio(NamedTuple):
    """The effective values; ``default_runtime`` "" leaves it to CRI-O."""

    files: tuple[str, ...]
    default_runtime: str
    runtimes: Mapping[str, Mapping[str, Any]]
    cgroup_driver: str
    cdi_spec_dirs: tuple[str, ...]
    hook_dirs: tuple[str, ...]
    socket: str


@stops_at_unread
def read_crio(source: Source, main: str = MAIN, drop_ins: str = DROP_INS) -> "Crio | Unread":
    """The effective values of a file and its drop-ins; the built-in ones without. Raises ``CrioConfigError`` if CRI-O rejects a file."""
    tables: list[tuple[str, Mapping[str, Any]]] = []
    size = Allowance("bytes of CRI-O's configuration", _MOST_BYTES)
    for path in _paths(source, main, drop_ins):
        if isinstance(path, Unread):
            return path
        data = source.read(path, _MAX_BYTES, keep=CRIO)
        if isinstance(data, Unread):
            if data.why == "absent":
                continue
            return data
        size.take(len(data))
        tables.append((path, parse_crio(data, path)))
    return merge_crio(tables)


def _paths(source: Source, main: str, drop_ins: str) -> "list[str | Unread]":
    names = source.listdir(drop_ins)
    if isinstance(names, Unread):
        return [main] if names.why == "absent" else [names]
    if len(names) > _MAX_FILES:
        return [Unread("error", f"{drop_ins}: {len(names)} files")]
    return [main, *(f"{drop_ins}/{name}" for name in names)]


def parse_crio(data: bytes, path: str) -> Mapping[str, Any]:
    """The ``crio`` table of one file.

    >>> parse_crio(b'[crio.runtime.runtimes.nvidia]' + bytes([10]) + b'runtime_path = "/usr/bin/nvidia-container-runtime"', "99.toml")
    {'runtime': {'runtimes': {'nvidia': {'runtime_path': '/usr/bin/nvidia-container-runtime'}}}}
    """
    try:
        return _table(parse_toml(data).get("crio", {}), f"{path}: crio")
    except TomlError as error:
        raise CrioConfigError(f"{path}: {error}") from error


def merge_crio(tables: list[tuple[str, Mapping[str, Any]]]) -> Crio:
    """Merges the tables: later files override by key, and runtimes by whole entries."""
    runtime: dict[str, Any] = {}
    runtimes: dict[str, Mapping[str, Any]] = {}
    socket = "/var/run/crio/crio.sock"
    for path, crio in tables:
        section = _table(crio.get("runtime", {}), f"{path}: crio.runtime")
        for name, entry in _table(section.get("runtimes", {}), f"{path}: runtimes").items():
            runtimes[name] = _table(entry, f"{path}: runtimes.{name}")
        runtime |= section
        socket = _string(_table(crio.get("api", {}), f"{path}: crio.api").get("listen", socket), "listen")
    default = _string(runtime.get("default_runtime", ""), "default_runtime")
    if default and runtimes and default not in runtimes and default not in ("runc", "crun"):
        raise CrioConfigError(f"default_runtime set to {default!r}, but no runtime entry was found for it")
    return Crio(
        files=tuple(path for path, _ in tables),
        default_runtime=default,
        runtimes=runtimes,
        cgroup_driver=_string(runtime.get("cgroup_manager", "systemd"), "cgroup_manager"),
        cdi_spec_dirs=_strings(runtime.get("cdi_spec_dirs", list(SPEC_DIRS)), "cdi_spec_dirs"),
        hook_dirs=_strings(runtime.get("hooks_dir", [CRIO_HOOKS]), "hooks_dir"),
        socket=socket,
    )


def default_runtime(crio: Crio, version: "str | Unread") -> str:
    """The configured name, or the built-in one of this version; the newest's if the version is unknown."""
    if crio.default_runtime or isinstance(version, Unread):
        return crio.default_runtime or "crun"
    return "crun" if compare_deb(version, CRIO_CRUN_DEFAULT) >= 0 else "runc"


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise CrioConfigError(f"{where}: found {type(value).__name__}, wanted a table")
    return value


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise CrioConfigError(f"{where}: wanted a list of strings")
    return tuple(value)


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise CrioConfigError(f"{where}: found {type(value).__name__}, wanted a string")
    return value
