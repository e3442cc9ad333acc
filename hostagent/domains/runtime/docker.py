"""Docker's daemon.json as dockerd reads it.

Its errors were measured with dockerd 26.1.5, and are repeated by tests/real/test_docker.py. Unknown keys, which dockerd rejects,
are accepted here: the list of keys changes with each version.
"""

# `dockerd --validate` accepts runtimes that the daemon rejects, so the tests use the started daemon. dockerd refuses to start if
# default runtime, exec-opts or hosts are in file and flags; runtimes of both are merged since 18.09.

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hostagent.core.unread import Unread
from hostagent.domains.runtime.tables.versions import DOCKER_CDI_DEFAULT, DOCKER_MERGES_RUNTIMES, SPEC_DIRS
from hostagent.facts.version import compare_deb

CONFIG = "/etc/docker/daemon.json"


class DockerConfigError(ValueError):
    """dockerd rejects this file; the message has the reason."""


class Docker(NamedTuple):
    """The values of daemon.json. ``cgroup_driver`` "" leaves the choice to dockerd."""

    default_runtime: str
    paths: Mapping[str, str]  # by runtime; "" for a runtime with a shim
    types: Mapping[str, str]
    cgroup_driver: str
    cdi: bool | None  # features.cdi, None if unset
    cdi_spec_dirs: tuple[str, ...]
    host_sockets: tuple[str, ...]
    flag_keys: frozenset[str] = frozenset()  # keys in the file that also exist as a flag


#: Flag to the key of daemon.json that may not be set as well (moby, daemon/config: findConfigurationConflicts).
_FLAGS = {
    "--add-runtime": "runtimes",
    "--default-runtime": "default-runtime",
    "--exec-opt": "exec-opts",
    "-H": "hosts",
    "--host": "hosts",
}


def with_flags(file: Docker, words: tuple[str, ...], version: "str | Unread") -> Docker:
    """The file with the flags of dockerd's command line over it; raises ``DockerConfigError`` if both set a key.

    Versions from `DOCKER_MERGES_RUNTIMES` on merge the runtimes of both.

    >>> dict(with_flags(parse_daemon_json("{}"), ("dockerd", "--add-runtime=nvidia=/usr/bin/nvidia-container-runtime"), "29.0").paths)
    {'nvidia': '/usr/bin/nvidia-container-runtime'}
    """
    paths, types = dict(file.paths), dict(file.types)
    for flag, value in _pairs(words):
        key = _FLAGS[flag]
        if key in file.flag_keys and (key != "runtimes" or _is_older(version, DOCKER_MERGES_RUNTIMES)):
            raise DockerConfigError(f"{key}: specified both as a flag and in the configuration file ({flag})")
        name, _, rest = value.partition("=")
        if flag == "--add-runtime" and rest and name not in paths:
            paths[name], types[name] = rest, ""
        elif flag == "--default-runtime":
            file = file._replace(default_runtime=value)
        elif flag == "--exec-opt" and name == "native.cgroupdriver":
            file = file._replace(cgroup_driver=rest)
    default = file.default_runtime
    if default != "runc" and default not in paths and "." not in default:
        raise DockerConfigError(f"specified default runtime {default!r} does not exist")
    return file._replace(paths=paths, types=types)


def _pairs(words: tuple[str, ...]) -> "Iterator[tuple[str, str]]":
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in _FLAGS:
            yield name, value if equals else next(iter(words[number + 1 : number + 2]), "")


def parse_daemon_json(text: str) -> Docker:
    """Parses daemon.json; an empty file is an empty object. Raises ``DockerConfigError``.

    >>> docker = parse_daemon_json('{"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}')
    >>> docker.default_runtime, dict(docker.paths)
    ('runc', {'nvidia': 'nvidia-container-runtime'})
    """
    document = _json(text)
    options = {} if document is None else _object(document, "daemon.json")
    data = {key: value for key, value in options.items() if value is not None}
    runtimes = {name: _runtime(name, entry) for name, entry in _object(data.get("runtimes", {}), "runtimes").items()}
    default = _string(data.get("default-runtime", ""), "default-runtime") or "runc"
    exec_opts = _strings(data.get("exec-opts", []), "exec-opts")
    drivers = [one.partition("=")[2] for one in exec_opts if one.startswith("native.cgroupdriver=")]
    if drivers and drivers[-1] not in ("systemd", "cgroupfs"):
        raise DockerConfigError(f"native.cgroupdriver option {drivers[-1]} not supported")
    features = _object(data.get("features", {}), "features")
    for value in features.values():
        if not isinstance(value, bool | None):
            raise DockerConfigError(f"features: found {type(value).__name__}, wanted true or false")
    return Docker(
        default_runtime=default,
        paths={name: entry["path"] for name, entry in runtimes.items()},
        types={name: entry["runtimeType"] for name, entry in runtimes.items()},
        cgroup_driver=drivers[-1] if drivers else "",
        cdi=features.get("cdi"),
        cdi_spec_dirs=tuple(_strings(data.get("cdi-spec-dirs", list(SPEC_DIRS)), "cdi-spec-dirs")),
        host_sockets=tuple(one[7:] for one in _strings(data.get("hosts", []), "hosts") if one.startswith("unix://")),
        flag_keys=frozenset(_FLAGS.values()) & set(data),
    )


def cdi_by_default(version: "str | Unread") -> bool:
    """Whether this version enables CDI without a setting in daemon.json; the newest does."""
    return not _is_older(version, DOCKER_CDI_DEFAULT)


def _is_older(version: "str | Unread", than: str) -> bool:
    """Whether `version` is older; an unknown one is treated as the newest."""
    return not isinstance(version, Unread) and compare_deb(version, than) < 0


def _runtime(name: str, value: Any) -> dict[str, str]:
    """One runtime, which must have either a path or a shim's name."""
    entry = _object({} if value is None else value, f"runtimes.{name}")
    keys = {key: _string(entry.get(key) or "", f"runtimes.{name}.{key}") for key in ("path", "runtimeType")}
    if name == "runc":
        raise DockerConfigError("runtime name 'runc' is reserved")
    if not any(keys.values()):
        raise DockerConfigError(f"runtime {name}: either a runtimeType or a path must be configured")
    if all(keys.values()):
        raise DockerConfigError(f"runtime {name}: cannot configure both path and runtimeType for the same runtime")
    return keys


def _json(text: str) -> Any:
    text = text.removeprefix("\ufeff").strip()
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError) as error:
        raise DockerConfigError(f"not JSON: {error}") from error


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DockerConfigError(f"{where}: found {type(value).__name__}, wanted an object")
    return value


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise DockerConfigError(f"{where}: found {type(value).__name__}, wanted a string")
    return value


def _strings(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise DockerConfigError(f"{where}: wanted a list of strings")
    return value
