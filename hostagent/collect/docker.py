"""Docker's daemon.json as dockerd reads it."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from hostagent.facts.unread import Unread
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
    data = _object(_json(text) if text.strip() else {}, "daemon.json")
    runtimes = {name: _object(entry, f"runtimes.{name}") for name, entry in _object(data.get("runtimes", {}), "runtimes").items()}
    default = _string(data.get("default-runtime", "runc"), "default-runtime")
    if "runc" in runtimes:
        raise DockerConfigError("runtime name 'runc' is reserved")
    if default != "runc" and default not in runtimes and "." not in default:
        raise DockerConfigError(f"specified default runtime {default!r} does not exist")
    options = _strings(data.get("exec-opts", []), "exec-opts")
    drivers = [one.partition("=")[2] for one in options if one.startswith("native.cgroupdriver=")]
    features = _object(data.get("features", {}), "features")
    cdi = features.get("cdi")
    if cdi is not None and not isinstance(cdi, bool):
        raise DockerConfigError(f"features.cdi is {cdi!r}, wanted true or false")
    return Docker(
        default_runtime=default,
        paths={name: _string(entry.get("path", ""), f"runtimes.{name}.path") for name, entry in runtimes.items()},
        types={name: _string(entry.get("runtimeType", ""), f"runtimes.{name}.runtimeType") for name, entry in runtimes.items()},
        cgroup_driver=drivers[-1] if drivers else "",
        cdi=cdi,
        cdi_spec_dirs=tuple(_strings(data.get("cdi-spec-dirs", list(SPEC_DIRS)), "cdi-spec-dirs")),
        host_sockets=tuple(one[7:] for one in _strings(data.get("hosts", []), "hosts") if one.startswith("unix://")),
    )


def cdi_by_default(version: "str | Unread") -> "bool | Unread":
    """Whether this version enables CDI where daemon.json does not say."""
    return version if isinstance(version, Unread) else compare_deb(version, DOCKER_CDI_DEFAULT) >= 0


def _json(text: str) -> Any:
    try:
        return json.loads(text)
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
