"""Docker on a host: daemon.json and the flags of dockerd, which must not repeat a key of the file."""

from collections.abc import Callable
from typing import Any

from hostagent.core.unread import NOT_APPLICABLE, Unread, then
from hostagent.domains.runtime import docker
from hostagent.domains.runtime.read_places import RuntimeCandidate, binary_exists, search_path
from hostagent.domains.runtime.read_unit_flags import unit_flags
from hostagent.domains.runtime.retention import DOCKER
from hostagent.domains.runtime.tables.versions import RUNC_V2
from hostagent.facts.host import Services
from hostagent.facts.runtime import Handler
from hostagent.host.source import Source
from hostagent.host.values import modified_at

CONTAINERD_ONLY = Unread("not-supported", "only containerd has tables and imports")
_IN_FORCE = ("default_runtime", "handlers", "cgroup_driver", "cdi_enabled", "cdi_spec_dirs")
_CONFIGURED = ("state", "error", "judged_as", "config_files", "newest_config_mtime", "socket", *_IN_FORCE)


def read_docker(known: Callable[[type], Any]) -> "Callable[[Source, RuntimeCandidate], dict[str, Any]]":
    """The reader of Docker's configuration; the units are read only if there is a Docker."""
    return lambda source, candidate: _docker(source, candidate, known(Services))


def _docker(source: Source, candidate: RuntimeCandidate, services: "Services | Unread") -> dict[str, Any]:
    text = source.text(candidate.config, keep=DOCKER)
    values = {
        **dict.fromkeys(("config_version", "misplaced", "shadowed", "unimported"), CONTAINERD_ONLY),
        "judged_as": "",
        "oci_hooks": (),
        "config_files": () if isinstance(text, Unread) else (candidate.config,),
        "newest_config_mtime": modified_at(source, candidate.config),
        "socket": candidate.place.socket,
    }
    flags = _flags(source, candidate, services)
    unread = next((one for one in (text, flags) if isinstance(one, Unread) and one.why != "absent"), None)
    if unread is not None:
        return {**values, **dict.fromkeys(_CONFIGURED, unread)}
    try:
        file = docker.parse_daemon_json("" if isinstance(text, Unread) else text)
        daemon = docker.with_flags(file, () if isinstance(flags, Unread) else flags, candidate.version)
    except docker.DockerConfigError as error:
        return {**values, **rejected(f"{candidate.config}: {error}")}
    return {**values, **_in_force(source, candidate, daemon)}


def _flags(source: Source, candidate: RuntimeCandidate, services: "Services | Unread") -> "tuple[str, ...] | Unread":
    """The flags of the running dockerd, else those that its unit would start it with."""
    if not isinstance(candidate.processes, Unread) and candidate.processes:
        return candidate.processes[0].argv
    if isinstance(candidate.processes, Unread) and candidate.processes.why not in NOT_APPLICABLE:
        return candidate.processes
    return unit_flags(source, then(services, lambda those: those.unit("docker")))


def _in_force(source: Source, candidate: RuntimeCandidate, daemon: docker.Docker) -> dict[str, Any]:
    driver = _driver(source, daemon.cgroup_driver)
    systemd = then(driver, lambda one: one == "systemd")
    folders = search_path(candidate.processes)
    runc = Handler("runc", RUNC_V2, "", binary_exists(source, "runc", folders), systemd)
    handlers = [
        Handler(name, daemon.types[name] or RUNC_V2, path, binary_exists(source, path, folders) if path else True, systemd)
        for name, path in daemon.paths.items()
    ]
    unknown = isinstance(candidate.version, Unread)
    return {
        "state": "accepted",
        "error": "",
        "judged_as": "" if not unknown else "older-differs" if daemon.cdi is None else "newest",
        "default_runtime": daemon.default_runtime,
        "handlers": tuple(sorted([runc, *handlers], key=lambda one: one.name)),
        "cgroup_driver": driver,
        "cdi_enabled": docker.cdi_by_default(candidate.version) if daemon.cdi is None else daemon.cdi,
        "cdi_spec_dirs": daemon.cdi_spec_dirs,
        "socket": next(iter(daemon.host_sockets), candidate.place.socket),
    }


def _driver(source: Source, configured: str) -> "str | Unread":
    """The cgroup driver: the configured one, else dockerd's default: systemd if it runs with the unified hierarchy, else cgroupfs."""
    if configured:
        return configured
    signs = [source.stat(path) for path in ("/sys/fs/cgroup/cgroup.controllers", "/run/systemd/system")]
    unread = next((one for one in signs if isinstance(one, Unread)), None)
    if unread is None:
        return "systemd"
    return "cgroupfs" if unread.why == "absent" else unread


def rejected(error: str) -> dict[str, Any]:
    """The values of a rejected configuration, which puts nothing into force."""
    return {
        "state": "rejected",
        "error": error,
        "judged_as": "",
        **dict.fromkeys(_IN_FORCE, Unread("absent", "the configuration is rejected")),
    }
