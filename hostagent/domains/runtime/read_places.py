"""Container runtimes on the host: paths, presence, versions."""

# K3s, RKE2 and k0s unpack their containerd and write its configuration at their first start: before that, and in an image,
# `state` is not-running and `handlers` has the one entry that is expected (k3s and RKE2 detect the toolkit).
# `Runtime.installed` is separate from `state`, so an unread file does not hide whether the runtime runs.

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hostagent.core.retention import Keep
from hostagent.core.tables.daemons import units
from hostagent.core.unread import NOT_APPLICABLE, Unread, then
from hostagent.domains.runtime.tables.versions import FIRST_START, RUNTIME_UNITS
from hostagent.facts.host import Machine, Process, Services, Unit
from hostagent.facts.packages import Packages
from hostagent.facts.version import upstream
from hostagent.host.process import flag_path
from hostagent.host.source import Source

_MOST_FOLDERS = 50
#: Of services (systemd.exec(5)).
PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


class Place(NamedTuple):
    """One runtime as its distributions install it."""

    key: str
    kind: str  # also the name of its unit
    config: str
    below: str  # a containerd with its configuration below this directory is this one; "" for any other
    socket: str
    binaries: tuple[str, ...]
    packages: tuple[str, ...]


_RANCHER = "/var/lib/rancher"
_CONTAINERD = "agent/etc/containerd/config.toml"
PLACES = (
    Place(
        "containerd", "containerd", "/etc/containerd/config.toml", "", "/run/containerd/containerd.sock",
        ("/usr/bin/containerd", "/usr/local/bin/containerd"), ("containerd.io", "containerd", "moby-containerd", "containerd2"),
    ),
    Place(
        "k3s", "containerd", f"{_RANCHER}/k3s/{_CONTAINERD}", f"{_RANCHER}/k3s/", "/run/k3s/containerd/containerd.sock",
        (f"{_RANCHER}/k3s/data/current/bin/containerd",), (),
    ),
    Place(
        "rke2", "containerd", f"{_RANCHER}/rke2/{_CONTAINERD}", f"{_RANCHER}/rke2/", "/run/k3s/containerd/containerd.sock",
        (f"{_RANCHER}/rke2/bin/containerd",), (),
    ),
    Place(
        "microk8s", "containerd", "/var/snap/microk8s/current/args/containerd.toml", "/var/snap/microk8s/",
        "/var/snap/microk8s/common/run/containerd.sock", ("/snap/microk8s/current/bin/containerd",), (),
    ),
    Place(
        "k0s", "containerd", "/etc/k0s/containerd.toml", "/etc/k0s/", "/run/k0s/containerd.sock",
        ("/var/lib/k0s/bin/containerd",), (),
    ),
    Place(
        "docker", "docker", "/etc/docker/daemon.json", "", "/run/docker.sock",
        ("/usr/bin/dockerd", "/usr/sbin/dockerd", "/usr/local/bin/dockerd", "/snap/docker/current/bin/dockerd"),
        ("docker-ce", "docker.io", "moby-engine", "docker"),
    ),
    Place(
        "crio", "crio", "/etc/crio/crio.conf", "", "/run/crio/crio.sock",
        ("/usr/bin/crio", "/usr/local/bin/crio"), ("cri-o",),
    ),
)  # fmt: skip
#: k0s starts its containerd from DATA/bin, with --root=DATA/containerd (k0s, --data-dir).
_BESIDE_ROOT, _ROOT, _BIN = ("k0s",), "/containerd", "/bin/containerd"
_DAEMONS = {kind: units("runtime")[kind] for kind in ("containerd", "docker", "crio")}
#: dockerd starts its own containerd if the host has none: a part of docker, not a second runtime.
_OF_DOCKER = ("/run/docker/", "/var/run/docker/")


class RuntimeCandidate(NamedTuple):
    """A runtime with a package, a binary, a process or a configuration on the host."""

    place: Place
    config: str  # the main file in use
    configured: "bool | Unread"  # that file exists
    installed: "bool | Unread"  # a package, a binary or a process
    processes: "tuple[Process, ...] | Unread"
    version: "str | Unread"
    in_use: "bool | Unread"  # a unit of it, or the socket unit, is enabled; or it runs
    is_unwritten: bool  # its first start, which unpacks it and writes its configuration, has not happened


def find(source: Source, known: Callable[[type], Any]) -> tuple[RuntimeCandidate, ...]:
    """Runtimes with a package, a binary, a process or a configuration, or for which one of these could not be read."""
    processes = then(known(Machine), lambda machine: machine.processes)
    installed = then(known(Packages), lambda packages: packages.installed)
    found = (_candidate(source, place, processes, installed, known(Services)) for place in PLACES)
    return tuple(one for one in found if one is not None)


def _candidate(source: Source, place: Place, processes: Any, packages: Any, services: "Services | Unread") -> "RuntimeCandidate | None":
    mine = then(processes, lambda those: _of_place(those, place))
    config = place.config if isinstance(mine, Unread) or not mine else _option(mine[0], place) or place.config
    configured = source.exists(config)
    package = _package(place, packages)
    argv = () if isinstance(mine, Unread) or not mine else mine[0].argv
    binaries = [(path, source.exists(path)) for path in _binaries(place, config, argv)]
    evidence = [package is not None, not isinstance(mine, Unread) and bool(mine), *(there for _, there in binaries)]
    installed = _any(evidence)
    is_unwritten = installed is False and configured is False
    if is_unwritten:
        installed = _has_first_start(source, place, services)
    if installed is False and configured is False:
        return None
    binary = next((path for path, there in binaries if there is True), "")
    version = package if package is not None else _binary_version(source, place, binary, packages)
    if is_unwritten:
        version = Unread("not-running", f"{place.key} is unpacked as it first starts")
    used = in_use(services, RUNTIME_UNITS[place.key], then(mine, bool))
    return RuntimeCandidate(place, config, configured, installed, mine, version, used, is_unwritten)


def _binaries(place: Place, config: str, argv: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Its programs; with --data-dir they are in the directory that its configuration is in, of k0s next to containerd's own directory.

    >>> _binaries(PLACES[1], "/data/k3s/agent/etc/containerd/config.toml")
    ('/data/k3s/data/current/bin/containerd',)
    >>> _binaries(PLACES[4], "/etc/k0s/containerd.toml", ("--root=/data/k0s/containerd",))
    ('/data/k0s/bin/containerd', '/var/lib/k0s/bin/containerd')
    """
    root = flag_path(argv, "--root")
    if place.key in _BESIDE_ROOT and root.endswith(_ROOT):
        return tuple(dict.fromkeys((f"{root.removesuffix(_ROOT)}{_BIN}", *place.binaries)))
    if not config.endswith(f"/{_CONTAINERD}") or not place.config.endswith(_CONTAINERD):
        return place.binaries
    return tuple(f"{config.removesuffix(_CONTAINERD)}{path.removeprefix(place.below)}" for path in place.binaries)


def _has_first_start(source: Source, place: Place, services: "Services | Unread") -> "bool | Unread":
    """Whether a unit that will start it for the first time and the unit's program exist."""
    known = () if isinstance(services, Unread) else tuple(services.unit(name) for name in RUNTIME_UNITS[place.key])
    if not any(not isinstance(unit, Unread) and unit.exists for unit in known):
        return False
    return _any(source.exists(path) for path in FIRST_START.get(place.key, ()))


def in_use(services: "Services | Unread", units: Iterable[str], runs: "bool | Unread") -> "bool | Unread":
    """Whether one of these units is enabled or has a process, or the daemon runs; in an image only the first."""
    found = [then(services, lambda those, name=name: those.unit(name)) for name in units]  # type: ignore[misc]
    return any_of([runs, *(then(unit, one) for unit in found for one in (_is_enabled, _is_active))])


def _is_enabled(unit: Unit) -> "bool | Unread":
    return unit.enabled


def _is_active(unit: Unit) -> "bool | Unread":
    return unit.active


def any_of(evidence: Iterable["bool | Unread"]) -> "bool | Unread":
    """As `_any`; absence counts as False."""
    return _any(False if isinstance(one, Unread) and one.why in NOT_APPLICABLE else one for one in evidence)


def _any(evidence: Iterable["bool | Unread"]) -> "bool | Unread":
    answers = list(evidence)
    if any(one is True for one in answers):
        return True
    return next((one for one in answers if isinstance(one, Unread)), False)


def _of_place(processes: tuple[Process, ...], place: Place) -> "tuple[Process, ...] | Unread":
    """The processes of this runtime, its own unit's first, then by age; unread if there is only one that may be its."""
    found = [one for one in processes if one.name in _DAEMONS[place.kind]]
    own = [one for one in found if not isinstance(one.unit, Unread) and _place_of(one) == place.key]
    if own:
        return tuple(sorted(own, key=lambda one: (one.unit != f"{place.kind}.service", one.started_at, one.pid)))
    return next((one.unit for one in found if isinstance(one.unit, Unread)), ())


def _place_of(process: Process) -> str:
    """By the file that it reads, else by its unit: with --data-dir a distribution has its files elsewhere, dockerd's containerd its own.

    >>> _place_of(Process(9, "containerd", ("containerd", "-c", "/data/k3s/agent/etc/containerd/config.toml"), 0.0, "k3s-agent.service"))
    'k3s'
    >>> _place_of(Process(9, "containerd", ("containerd", "--config", "/data/exec/containerd/containerd.toml"), 0.0, "docker.service"))
    ''
    """
    if process.name != "containerd":
        return next((place.key for place in PLACES if process.name in _DAEMONS[place.kind]), "")
    config = _option(process, PLACES[0])
    unit = "" if isinstance(process.unit, Unread) else process.unit.removesuffix(".service")
    if config.startswith(_OF_DOCKER) or unit in RUNTIME_UNITS["docker"]:
        return ""
    below = next((place.key for place in PLACES if place.below and config.startswith(place.below)), "")
    return below or next((place.key for place in PLACES if place.kind == "containerd" and unit in RUNTIME_UNITS[place.key]), "containerd")


def _option(process: Process, place: Place) -> str:
    """The configuration file on the process's command line, "" for none.

    >>> _option(Process(1, "containerd", ("containerd", "-c", "/x.toml"), 0.0, "containerd.service"), PLACES[0])
    '/x.toml'
    """
    return flag_path(process.argv, *(("--config-file",) if place.kind == "docker" else ("--config", "-c")))


def _package(place: Place, packages: Any) -> "str | Unread | None":
    if isinstance(packages, Unread):
        return None
    rank = {name: number for number, name in enumerate(place.packages)}
    mine = sorted((one for one in packages if one.name in rank), key=lambda one: rank[one.name])
    return mine[0].upstream if mine else None


def _binary_version(source: Source, place: Place, binary: str, packages: Any) -> "str | Unread":
    if not binary:
        lost = packages.question if isinstance(packages, Unread) else ""
        return Unread("error", f"no package and no program says the version of {place.key}", lost)
    answer = source.run(binary, "--version", keep=Keep("head", ("4096",)))
    if isinstance(answer, Unread):
        gone = Unread("error", f"{binary} is there and cannot be run: {answer.detail}", answer.question)
        return gone if answer.why == "absent" else answer
    return parse_version(answer.stdout)


def parse_version(text: str) -> "str | Unread":
    r"""The version in what ``containerd --version``, ``dockerd --version`` or ``crio --version`` prints.

    >>> parse_version("containerd github.com/containerd/containerd v1.7.27 05044ec0a9a75232cad458027ca83437aae3f4da")
    '1.7.27'
    >>> parse_version("Docker version 28.5.2, build ecc6942"), parse_version("crio version 1.31.2\nVersion: 1.31.2")
    ('28.5.2', '1.31.2')
    """
    words = (word.lstrip("v").rstrip(",") for word in text[:4096].split())
    found = next((word for word in words if word[:1].isdigit() and "." in word), "")
    return upstream(found) if found else Unread("error", f"no version in {text[:80]!r}")


def binary_exists(source: Source, binary: str, path: tuple[str, ...] = PATH) -> "bool | Unread":
    """Whether a handler's program exists: a path, or a name that is looked up in a daemon's search path."""
    return _any(source.exists(one) for one in ((binary,) if "/" in binary else (f"{folder}/{binary}" for folder in path)))


def search_path(processes: "tuple[Process, ...] | Unread") -> tuple[str, ...]:
    """Where this daemon looks up programs: its own PATH if it runs and that was read, else systemd's.

    >>> search_path((Process(9, "containerd", (), 0.0, "", "/snap/x/bin:/usr/bin"),)), search_path(()) == PATH
    (('/snap/x/bin', '/usr/bin'), True)
    """
    own = "" if isinstance(processes, Unread) or not processes else processes[0].path
    folders = tuple(one.rstrip("/") for one in own.split(":")[:_MOST_FOLDERS] if one.startswith("/"))
    return folders or PATH
