"""Docker's daemon.json as dockerd reads it.

What it refuses was learned by starting dockerd 26.1.5, and is repeated by tests/real/test_docker.py. A key that no version
knows is refused by dockerd and not by us: the list of keys changes with each version.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from hostagent.facts.unread import Unread, then
from hostagent.facts.version import compare_deb
from hostagent.knowledge.runtimes import DOCKER_CDI_DEFAULT, SPEC_DIRS

CONFIG = "/etc/docker/daemon.json"


class DockerConfigError(ValueError):
    """dockerd refuses this file; the message says why."""


class Docker(NamedTuple):
    """What daemon.json says. ``cgroup_driver`` "" leaves the choice to dockerd."""

    default_runtime: str
    paths: Mapping[str, str]  # by runtime; "" for a runtime given by its shim
    types: Mapping[str, str]
    cgroup_driver: str
    cdi: bool | None  # features.cdi, None when it is not said
    cdi_spec_dirs: tuple[str, ...]
    host_sockets: tuple[str, ...]


def parse_daemon_json(text: str) -> Docker:
    """Raises ``DockerConfigError``. An empty file is an empty object.

    >>> docker = parse_daemon_json('{"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}')
    >>> docker.default_runtime, dict(docker.paths)
    ('runc', {'nvidia': 'nvidia-container-runtime'})
    """
    document = _json(text)
    options = {} if document is None else _object(document, "daemon.json")
    data = {key: value for key, value in options.items() if value is not None}
    runtimes = {name: _runtime(name, entry) for name, entry in _object(data.get("runtimes", {}), "runtimes").items()}
    default = _string(data.get("default-runtime", ""), "default-runtime") or "runc"
    if default != "runc" and default not in runtimes and "." not in default:
        raise DockerConfigError(f"specified default runtime {default!r} does not exist")
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
    )


def cdi_by_default(version: "str | Unread") -> "bool | Unread":
    """Whether this version enables CDI where daemon.json does not say."""
    return then(version, lambda one: compare_deb(one, DOCKER_CDI_DEFAULT) >= 0)


def _runtime(name: str, value: Any) -> dict[str, str]:
    """One runtime: exactly one of a path and a shim's name."""
    entry = _object({} if value is None else value, f"runtimes.{name}")
    said = {key: _string(entry.get(key) or "", f"runtimes.{name}.{key}") for key in ("path", "runtimeType")}
    if name == "runc":
        raise DockerConfigError("runtime name 'runc' is reserved")
    if not any(said.values()):
        raise DockerConfigError(f"runtime {name}: either a runtimeType or a path must be configured")
    if all(said.values()):
        raise DockerConfigError(f"runtime {name}: cannot configure both path and runtimeType for the same runtime")
    return said


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
