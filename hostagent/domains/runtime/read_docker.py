"""Docker on a host: daemon.json and the flags of dockerd, which no key of the file may repeat."""

from collections.abc import Callable
from typing import Any

from hostagent.core.unread import NOT_APPLICABLE, Unread, then
from hostagent.domains.runtime import docker
from hostagent.domains.runtime.read_places import Found, binary_exists
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


def read_docker(known: Callable[[type], Any]) -> "Callable[[Source, Found], dict[str, Any]]":
    """The reader, which asks for units only where there is a Docker."""
    return lambda source, found: _docker(source, found, known(Services))


def _docker(source: Source, found: Found, services: "Services | Unread") -> dict[str, Any]:
    text = source.text(found.config, keep=DOCKER)
    values = {
        **dict.fromkeys(("config_version", "misplaced", "shadowed", "unimported"), CONTAINERD_ONLY),
        "judged_as": "",
        "oci_hooks": (),
        "config_files": () if isinstance(text, Unread) else (found.config,),
        "newest_config_mtime": modified_at(source, found.config),
        "socket": found.place.socket,
    }
    flags = _flags(source, found, services)
    unread = next((one for one in (text, flags) if isinstance(one, Unread) and one.why != "absent"), None)
    if unread is not None:
        return {**values, **dict.fromkeys(_CONFIGURED, unread)}
    try:
        file = docker.parse_daemon_json("" if isinstance(text, Unread) else text)
        daemon = docker.with_flags(file, () if isinstance(flags, Unread) else flags, found.version)
    except docker.DockerConfigError as error:
        return {**values, **rejected(f"{found.config}: {error}")}
    return {**values, **_in_force(source, found, daemon)}


def _flags(source: Source, found: Found, services: "Services | Unread") -> "tuple[str, ...] | Unread":
    """Of the dockerd that runs; of one that does not, what its unit would start."""
    if not isinstance(found.processes, Unread) and found.processes:
        return found.processes[0].argv
    if isinstance(found.processes, Unread) and found.processes.why not in NOT_APPLICABLE:
        return found.processes
    return unit_flags(source, then(services, lambda those: those.unit("docker")))


def _in_force(source: Source, found: Found, daemon: docker.Docker) -> dict[str, Any]:
    driver = _driver(source, daemon.cgroup_driver)
    systemd = then(driver, lambda one: one == "systemd")
    runc = Handler("runc", RUNC_V2, "", binary_exists(source, "runc"), systemd)
    handlers = [
        Handler(name, daemon.types[name] or RUNC_V2, path, binary_exists(source, path) if path else True, systemd)
        for name, path in daemon.paths.items()
    ]
    unknown = isinstance(found.version, Unread)
    return {
        "state": "accepted",
        "error": "",
        "judged_as": "" if not unknown else "older-differs" if daemon.cdi is None else "newest",
        "default_runtime": daemon.default_runtime,
        "handlers": tuple(sorted([runc, *handlers], key=lambda one: one.name)),
        "cgroup_driver": driver,
        "cdi_enabled": docker.cdi_by_default(found.version) if daemon.cdi is None else daemon.cdi,
        "cdi_spec_dirs": daemon.cdi_spec_dirs,
        "socket": next(iter(daemon.host_sockets), found.place.socket),
    }


def _driver(source: Source, said: str) -> "str | Unread":
    """What dockerd chooses: systemd where it runs and the cgroup hierarchy is the unified one, else cgroupfs."""
    if said:
        return said
    signs = [source.stat(path) for path in ("/sys/fs/cgroup/cgroup.controllers", "/run/systemd/system")]
    unread = next((one for one in signs if isinstance(one, Unread)), None)
    if unread is None:
        return "systemd"
    return "cgroupfs" if unread.why == "absent" else unread


def rejected(error: str) -> dict[str, Any]:
    """A configuration that puts nothing into force."""
    return {
        "state": "rejected",
        "error": error,
        "judged_as": "",
        **dict.fromkeys(_IN_FORCE, Unread("absent", "the configuration is rejected")),
    }
