"""Kubelets that are in use, and the runtime each of them asks for containers."""

import re
from typing import Any, NamedTuple

from hostagent.collect.runtime.places import PLACES, in_use
from hostagent.collect.runtime.unitflags import parse_flags, unit_flags
from hostagent.collect.values import Allowance, stops_at_unread
from hostagent.facts.host import Process, Services, Unit
from hostagent.facts.runtime import Launcher, Runtime
from hostagent.facts.unread import Unread, UnreadError, need, then
from hostagent.knowledge.daemons import processes as names_of
from hostagent.knowledge.runtimes import (
    CRI_DOCKERD,
    DOCKER_ENDPOINTS,
    K3S_DOCKER,
    KUBELET_CONFIGS,
    KUBELET_ENDPOINT,
    KUBELET_FILES,
    KUBELET_SEEN_ONLY,
    KUBELET_UNITS,
)
from hostagent.source import Source
from hostagent.source.keep import Keep

_ENDPOINT, _DRIVER = "--container-runtime-endpoint", "--cgroup-driver"
_KEYS = ("containerRuntimeEndpoint", "cgroupDriver")
_CONFIG = Keep("yaml", _KEYS)
_OWN_FILE = Keep("yaml", ("container-runtime-endpoint", "docker#"))
_MAX_FILES, _MAX_BYTES = 100, 256 * 1024


class _Said(NamedTuple):
    """What one kubelet was told: flag to value, "" where it was not."""

    flags: "dict[str, str]"
    runs: bool

    def of(self, flag: str) -> str:
        return self.flags.get(flag, "")


def parse_endpoint(text: str) -> str:
    """The path in an endpoint, as the kubelet takes it: with a scheme or without.

    >>> parse_endpoint("unix:///var/run/crio/crio.sock"), parse_endpoint("/run/containerd/containerd.sock")
    ('/run/crio/crio.sock', '/run/containerd/containerd.sock')
    """
    path = re.sub(r"\Aunix:/*", "/", text.strip().strip("\"'"))
    return path.removeprefix("/var") if path.startswith("/var/run/") else path


class Kubelets:
    """One pass over the units and processes that may be one."""

    def __init__(
        self,
        source: Source,
        services: "Services | Unread",
        processes: "tuple[Process, ...] | Unread",
        runtimes: "tuple[Runtime, ...] | Unread",
        sockets: "tuple[str, ...] | Unread",
    ) -> None:
        self._source = source
        self._services = services
        self._processes: tuple[Process, ...] | Unread = (
            () if isinstance(processes, Unread) and processes.why == "not-running" else processes
        )
        self._sockets = sockets
        self._runtimes: Any = () if isinstance(runtimes, Unread) else runtimes

    def in_use(self) -> "tuple[Launcher, ...] | Unread":
        return self._by_unit()

    @stops_at_unread
    def _by_unit(self) -> tuple[Launcher, ...]:
        """By unit. What contains one without being one (k0s, RKE2) counts by the kubelet in its cgroup, or by its unit."""
        named = [one for one in need(self._processes) if one.name in names_of("kubelet")]
        running = {one.unit.removesuffix(".service"): one for one in reversed(named) if not isinstance(one.unit, Unread)}
        if not running:
            need(next((one.unit for one in named if isinstance(one.unit, Unread)), ""))
        found = []
        for name in KUBELET_UNITS:
            unit = need(self._services).unit(name)
            used = False if name in KUBELET_SEEN_ONLY or _is_unlooked(unit) else in_use(self._services, (name,), name in running)
            if name in running or need(used):
                found.append(self._kubelet(name, unit, running.get(name)))
        return (*found, *(self._kubelet(name, Unread("absent", name), one) for name, one in running.items() if name not in KUBELET_UNITS))

    def _kubelet(self, name: str, unit: "Unit | Unread", process: "Process | None") -> Launcher:
        distribution = KUBELET_UNITS.get(name, "")
        said = self._said(unit, process)
        files = then(said, lambda one: self._files(one, distribution))
        endpoint = then(said, lambda one: _by_flag(one) or then(files, lambda values: self._endpoint(one, values, distribution)))
        driver = then(said, lambda one: one.of(_DRIVER) or then(files, lambda values: values.get(_KEYS[1], "")))
        runtime = then(endpoint, lambda path: self._runtime_at(path, distribution))
        return Launcher(name, endpoint, runtime, driver, then(endpoint, self._listens))

    def _listens(self, path: str) -> "bool | Unread":
        if path != CRI_DOCKERD:
            return Unread("not-supported", "it asks a runtime itself, or its own cri-dockerd")
        # The list that `Machine` reads: asked for again to say which of its paths are used.
        listed = self._source.sockets(keep=Keep("paths", (path, f"/var{path}")))
        if isinstance(listed, Unread):
            return listed
        return then(self._sockets, lambda seen: path in map(parse_endpoint, seen))

    @stops_at_unread
    def _said(self, unit: "Unit | Unread", process: "Process | None") -> _Said:
        if process is not None:
            return _Said({**parse_flags(process.argv), **({"--docker": "yes"} if "--docker" in process.argv else {})}, runs=True)
        return _Said(parse_flags(need(unit_flags(self._source, unit))), runs=False)

    @stops_at_unread
    def _files(self, said: _Said, distribution: str) -> "dict[str, str]":
        """The configuration file, and over it the drop-ins of its directory; of a distribution its own file."""
        if distribution:
            path = KUBELET_FILES.get(distribution, "")
            return self._values(path, _OWN_FILE) if path else {}
        paths = [said.of("--config")] if said.of("--config") else [] if said.runs else list(KUBELET_CONFIGS)
        if directory := said.of("--config-dir"):
            names = need(self._source.listdir(directory, absent=()))
            paths += [f"{directory}/{name}" for name in sorted(names) if name.endswith(".conf")]
        Allowance("files of a kubelet's configuration", _MAX_FILES).take(len(paths))
        values: dict[str, str] = {}
        size = Allowance("bytes of a kubelet's configuration", _MAX_BYTES)
        for path in paths:
            values |= self._values(path, _CONFIG, size)
        return values

    def _values(self, path: str, keep: Keep, size: "Allowance | None" = None) -> "dict[str, str]":
        data = self._source.read(path, keep=keep)
        if isinstance(data, Unread):
            if data.why == "absent":
                return {}
            raise UnreadError(data)
        if size is not None:
            size.take(len(data))
        from hostagent.yamlfile import YamlError, parse_foreign_yaml  # 16 ms, where there is a file

        try:
            document = parse_foreign_yaml(data)
        except YamlError as error:
            raise UnreadError(Unread("error", f"{path}: {error}"[:300])) from error
        found = document if isinstance(document, dict) else {}
        return {str(key): str(value) for key, value in found.items() if isinstance(value, str | bool) and value}

    def _endpoint(self, said: _Said, values: "dict[str, str]", distribution: str) -> str:
        if values.get("docker"):
            return K3S_DOCKER
        if told := values.get(_KEYS[0], "") or values.get("container-runtime-endpoint", ""):
            return parse_endpoint(told)
        own = next((place.socket for place in PLACES if place.key == distribution), "")
        return own or (KUBELET_ENDPOINT if said.runs or values else "")

    def _runtime_at(self, path: str, distribution: str) -> "str | Unread":
        """By what runtimes say of their socket, then by where each has it."""
        if not path:
            return ""
        said = [one.key for one in self._runtimes if not isinstance(one.socket, Unread) and parse_endpoint(one.socket) == path]
        usual = [place.key for place in PLACES if place.socket == path]
        keys = [*said, *(["docker"] if path in DOCKER_ENDPOINTS else []), *usual]
        if distribution in keys:
            return distribution
        return keys[0] if keys else Unread("error", f"the kubelet asks {path}, and no runtime that is known listens there")


def _by_flag(said: _Said) -> str:
    """No other file counts then, whether it can be read or not; "" without one."""
    return K3S_DOCKER if said.of("--docker") else parse_endpoint(said.of(_ENDPOINT)) if said.of(_ENDPOINT) else ""


def _is_unlooked(unit: "Unit | Unread") -> bool:
    return isinstance(unit, Unread) and unit.why == "not-recorded"
