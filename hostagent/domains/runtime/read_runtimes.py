"""Container runtimes: one ``Runtime`` for each that is on the host, with its effective configuration."""

import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from hostagent.core.parsing import Allowance, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.toml import TomlError, parse_toml
from hostagent.core.unread import Unread, then
from hostagent.domains.runtime import read_crio
from hostagent.domains.runtime.read_containerd import Effective, effective, is_newer, rules_of_unknown_version
from hostagent.domains.runtime.read_containerd_shadow import nvidia_entries
from hostagent.domains.runtime.read_docker import CONTAINERD_ONLY, read_docker, rejected
from hostagent.domains.runtime.read_oci_hooks import read_hooks
from hostagent.domains.runtime.read_places import RuntimeCandidate, binary_exists, find, search_path
from hostagent.domains.runtime.retention import UNIMPORTED
from hostagent.domains.runtime.tables.versions import FINDS_TOOLKIT, RUNC_V2
from hostagent.domains.system.retention import CRIO_FLAGS
from hostagent.facts.host import Machine
from hostagent.facts.runtime import Handler, Runtime
from hostagent.host.process import flag_path
from hostagent.host.source import Source
from hostagent.host.values import modified_at

#: The fields of a Runtime that come from its configuration.
_CONFIGURED = (
    "state", "error", "judged_as", "config_files", "config_version", "default_runtime", "handlers", "cgroup_driver", "cdi_enabled",
    "cdi_spec_dirs", "oci_hooks", "misplaced", "shadowed", "newest_config_mtime", "socket",
)  # fmt: skip
_DROP_IN_FOLDERS = ("conf.d", "config.d")
_MAX_BYTES, _MOST_BYTES = 256 * 1024, 512 * 1024


def read_runtimes(source: Source, known: Callable[[type], Any]) -> tuple[Runtime, ...]:
    """By key. A configuration without a program is included, with the state absent."""
    machine = known(Machine)
    readers = {"containerd": _containerd, "docker": read_docker(known), "crio": _crio}
    readers_of = ((candidate, _unwritten if candidate.is_unwritten else readers[candidate.place.kind]) for candidate in find(source, known))
    runtimes = (_runtime(source, candidate, read(source, candidate), machine) for candidate, read in readers_of)
    return tuple(sorted(runtimes, key=lambda one: one.key))


def _runtime(source: Source, candidate: RuntimeCandidate, configured: Mapping[str, Any], machine: "Machine | Unread") -> Runtime:
    values = {**configured}
    if candidate.installed is False and candidate.configured is True:
        values["state"] = "absent"
    elif isinstance(candidate.installed, Unread) and candidate.configured is False:
        values["state"] = candidate.installed
    processes = candidate.processes
    stopped = Unread("absent", f"{candidate.place.key} does not run")
    return Runtime(
        key=candidate.place.key,
        kind=candidate.place.kind,
        version=candidate.version,
        installed=candidate.installed,
        in_use=candidate.in_use,
        running=then(processes, bool),
        started_at=then(processes, lambda those: min((one.started_at for one in those), default=stopped)),
        socket_listening=then(then(processes, bool), lambda runs: runs and _listens(source, values["socket"], machine)),
        **values,
    )


def _listens(source: Source, socket: "str | Unread", machine: "Machine | Unread") -> "bool | Unread":
    """Whether a running runtime listens on its socket: any process may claim the path."""
    seen = then(machine, lambda one: one.listening_sockets)
    unseen = then(machine, lambda one: one.unseen_sockets)
    if isinstance(socket, Unread) or isinstance(seen, Unread) or isinstance(unseen, Unread):
        return next(one for one in (socket, seen, unseen) if isinstance(one, Unread))
    listed = source.sockets(keep=Keep("paths", (socket,)))  # the same list again, with the path to keep in a recording
    if isinstance(listed, Unread) and listed.why == "not-recorded":
        return listed
    path = _run_path(socket)
    if path not in map(_run_path, seen) and path in map(_run_path, unseen):
        return Unread("denied", f"somebody listens on {socket}, and whose file that is cannot be seen", "sockets")
    return path in map(_run_path, seen)


def _run_path(path: str) -> str:
    return path.removeprefix("/var") if path.startswith("/var/run/") else path


def _unwritten(source: Source, candidate: RuntimeCandidate) -> dict[str, Any]:
    """The values before the first start, which writes the configuration. Some handlers are expected."""
    key = candidate.place.key
    unread = Unread("not-running", f"{key} writes its configuration as it first starts")
    values = {**dict.fromkeys((*_CONFIGURED, "unimported"), unread), "socket": candidate.place.socket}
    places = FINDS_TOOLKIT.get(key)
    if places:
        there = [(path, source.exists(path)) for path in places]
        lost = next((one for _, one in there if isinstance(one, Unread)), None)
        coming = next((path for path, one in there if one is True), "")
        entries = (Handler("nvidia", RUNC_V2, coming, binary_exists=True, systemd_cgroup=unread),) if coming else ()
        values["handlers"] = lost if lost is not None and not coming else entries
    return values


def _all_unread(unread: Unread, source: Source, candidate: RuntimeCandidate) -> dict[str, Any]:
    return {**dict.fromkeys(_CONFIGURED, unread), "unimported": _unimported(source, candidate, ())}


def _containerd(source: Source, candidate: RuntimeCandidate) -> dict[str, Any]:
    version = "" if isinstance(candidate.version, Unread) else candidate.version
    view = effective(source, candidate.config, version)
    if isinstance(view, Unread):
        return _all_unread(view, source, candidate)
    path = search_path(candidate.processes)
    handlers = tuple(_containerd_handler(source, name, entry, path) for name, entry in sorted(view.handlers.items()))
    values: dict[str, Any] = {
        "state": "cri_disabled" if view.cri_disabled else "rejected" if view.error else "accepted",
        "error": view.error,
        "judged_as": "newer" if is_newer(version) else "" if version else rules_of_unknown_version(source, candidate.config, view),
        "config_files": view.files,
        "config_version": view.version,
        "default_runtime": view.default_runtime,
        "handlers": handlers,
        "cgroup_driver": _driver(handlers, view.default_runtime),
        "cdi_enabled": view.cdi_enabled,
        "cdi_spec_dirs": view.cdi_spec_dirs,
        "oci_hooks": (),
        "misplaced": view.misplaced,
        "shadowed": view.shadowed,
        "newest_config_mtime": view.newest_mtime,
        "socket": _address(candidate) or view.address or candidate.place.socket,
        "unimported": _unimported(source, candidate, view.files),
    }
    return {**values, **_without_effect(view)}


def _without_effect(view: Effective) -> dict[str, Any]:
    """The values that are void in a rejected configuration or one without CRI, which puts no runtime entry into force."""
    if view.cri_disabled:
        unread = Unread("absent", "the CRI plugin is disabled")
    elif view.error and not view.handlers:
        unread = Unread("absent", "the configuration is rejected")
    else:
        return {}
    names = ("default_runtime", "handlers", "cgroup_driver", "cdi_enabled", "cdi_spec_dirs")
    parsed = () if view.cri_disabled else ("misplaced", "shadowed", "config_version")
    return dict.fromkeys((*names, *parsed), unread)


def _address(candidate: RuntimeCandidate) -> str:
    """The socket on the command line, which overrides the file's; "" for none."""
    processes = candidate.processes
    return "" if isinstance(processes, Unread) or not processes else processes[0].address


def _containerd_handler(source: Source, name: str, entry: Mapping[str, Any], path: tuple[str, ...]) -> Handler:
    options = entry.get("options", {})
    systemd = options.get("SystemdCgroup", False)
    binary = str(options.get("BinaryName", "")) or str(entry.get("runtime_path", ""))
    return Handler(
        name=name,
        runtime_type=str(entry.get("runtime_type", "")),
        binary=binary,
        binary_exists=binary_exists(source, binary or "runc", path),
        systemd_cgroup=systemd
        if isinstance(systemd, bool)
        else Unread("error", f"SystemdCgroup of {name}: found {type(systemd).__name__}, wanted true or false"),
    )


def _driver(handlers: tuple[Handler, ...], default: str) -> "str | Unread":
    systemd = next((one.systemd_cgroup for one in handlers if one.name == default), Unread("absent", f"no runtime {default!r}"))
    return then(systemd, lambda used: "systemd" if used else "cgroupfs")


@stops_at_unread
def _unimported(source: Source, candidate: RuntimeCandidate, files: tuple[str, ...]) -> "tuple[str, ...] | Unread":
    main = posixpath.dirname(candidate.config)
    folders = _unread_by_crio(candidate) if candidate.place.kind == "crio" else tuple(f"{main}/{name}" for name in _DROP_IN_FOLDERS)
    lost = []
    size = Allowance(f"bytes of drop-ins beside {candidate.config}", _MOST_BYTES)
    for folder in folders:
        names = source.listdir(folder, absent=())
        if isinstance(names, Unread):
            return names
        for path in (f"{folder}/{name}" for name in names if name.endswith((".toml", ".conf"))):
            data = b"" if path in files else source.read(path, _MAX_BYTES, keep=UNIMPORTED)
            if isinstance(data, Unread):
                return data
            size.take(len(data))
            if _names_nvidia(data):
                lost.append(path)
    return tuple(lost)


def _names_nvidia(data: bytes) -> bool:
    try:
        table = parse_toml(data, strict=False)
    except TomlError:
        return b"nvidia" in data
    runtimes = table
    for key in ("crio", "runtime", "runtimes"):
        runtimes = runtimes.get(key, {}) if isinstance(runtimes, dict) else {}
    return bool(nvidia_entries(table)) or (isinstance(runtimes, dict) and any(name.startswith("nvidia") for name in runtimes))


def _crio(source: Source, candidate: RuntimeCandidate) -> dict[str, Any]:
    values = {
        **dict.fromkeys(("config_version", "misplaced", "shadowed"), CONTAINERD_ONLY),
        "config_files": (candidate.config,),
        "oci_hooks": (),
        "newest_config_mtime": Unread("absent", "no configuration file"),
        "socket": candidate.place.socket,
        "unimported": _unimported(source, candidate, ()),
    }
    source.processes(keep=CRIO_FLAGS)  # the same list again, with the flags to keep in a recording
    try:
        view = read_crio.read_crio(source, candidate.config, _crio_drop_ins(candidate))
    except read_crio.CrioConfigError as error:
        return {**values, **rejected(str(error))}
    if isinstance(view, Unread):
        return _all_unread(view, source, candidate)
    default = read_crio.default_runtime(view, candidate.version)
    judged_as = "" if not isinstance(candidate.version, Unread) else "newest" if view.default_runtime else "older-differs"
    entries = view.runtimes or {default: {}}
    systemd = view.cgroup_driver == "systemd"
    changed = [modified_at(source, path) for path in view.files]
    unread = next((one for one in changed if isinstance(one, Unread)), Unread("absent", "no configuration file"))
    times = [one for one in changed if not isinstance(one, Unread)]
    return {
        **values,
        "state": "accepted",
        "error": "",
        "judged_as": judged_as,
        "config_files": view.files,
        "newest_config_mtime": max(times) if times and len(times) == len(changed) else unread,
        "default_runtime": default,
        "handlers": tuple(
            _crio_handler(source, name, entry, search_path(candidate.processes), systemd=systemd) for name, entry in sorted(entries.items())
        ),
        "cgroup_driver": view.cgroup_driver,
        "cdi_enabled": True,
        "cdi_spec_dirs": view.cdi_spec_dirs,
        "oci_hooks": read_hooks(source, view.hook_dirs),
        "socket": _run_path(view.socket),
    }


def _crio_drop_ins(candidate: RuntimeCandidate) -> str:
    """The directory of drop-ins on the command line, else the usual one (crio(8), --config-dir, -d)."""
    words = () if isinstance(candidate.processes, Unread) or not candidate.processes else candidate.processes[0].argv
    return flag_path(words, "--config-dir", "-d") or read_crio.DROP_INS


def _unread_by_crio(candidate: RuntimeCandidate) -> tuple[str, ...]:
    """Directories that tools write drop-ins to, and that this CRI-O does not read: with a directory of its own also the usual one."""
    own = _crio_drop_ins(candidate)
    usual = () if own == read_crio.DROP_INS else (read_crio.DROP_INS,)
    return tuple(folder for folder in (read_crio.WRONG_DROP_INS, *usual) if folder != own)


def _crio_handler(source: Source, name: str, entry: Mapping[str, Any], path: tuple[str, ...], *, systemd: bool) -> Handler:
    binary = str(entry.get("runtime_path", ""))
    return Handler(name, str(entry.get("runtime_type", "")) or "oci", binary, binary_exists(source, binary or name, path), systemd)
