"""Kubelets that are in use, and the container runtime of each."""

import re
from typing import Any, NamedTuple

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, UnreadError, need, then
from hostagent.domains.kubelet.read_command import parse_flags
from hostagent.domains.kubelet.read_files import Files
from hostagent.domains.kubelet.read_processes import KubeletUnit
from hostagent.domains.kubelet.retention import DISTRIBUTION
from hostagent.domains.runtime.read_places import PLACES
from hostagent.domains.runtime.tables.versions import (
    CRI_DOCKERD,
    DOCKER_ENDPOINTS,
    K3S_DOCKER,
    KUBELET_CONFIGS,
    KUBELET_ENDPOINT,
    KUBELET_FILES,
    KUBELET_SOCKETS,
)
from hostagent.facts.runtime import Launcher, Runtime
from hostagent.host.source import Source

_ENDPOINT, _DRIVER = "--container-runtime-endpoint", "--cgroup-driver"
_KEYS = ("containerRuntimeEndpoint", "cgroupDriver")


class _Flags(NamedTuple):
    """The flags of one kubelet and whether it runs; "" for a missing flag."""

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
    """One pass over the kubelets in use."""

    def __init__(
        self,
        source: Source,
        found: "tuple[KubeletUnit, ...] | Unread",
        runtimes: "tuple[Runtime, ...] | Unread",
        sockets: "tuple[str, ...] | Unread",
    ) -> None:
        self._source = source
        self._found = found
        self._sockets = sockets
        self._runtimes: Any = () if isinstance(runtimes, Unread) else runtimes

    def in_use(self) -> "tuple[Launcher, ...] | Unread":
        """The kubelets by unit, as `hostagent.domains.kubelet.read_processes` has them."""
        return then(self._found, lambda found: tuple(map(self._kubelet, found)))

    def _kubelet(self, found: KubeletUnit) -> Launcher:
        distribution = found.distribution
        flags = self._flags(found)
        files = then(flags, lambda one: self._files(one, distribution))
        endpoint = then(flags, lambda one: _by_flag(one) or then(files, lambda values: self._endpoint(one, values, distribution)))
        driver = then(flags, lambda one: one.of(_DRIVER) or then(files, lambda values: values.get(_KEYS[1], "")))
        runtime = then(endpoint, lambda path: self._runtime_at(path, distribution))
        return Launcher(found.name, endpoint, runtime, driver, then(endpoint, self._listens))

    def _listens(self, path: str) -> "bool | Unread":
        if path != CRI_DOCKERD:
            return Unread("not-supported", "it asks a runtime itself, or its own cri-dockerd")
        # The list that `Machine` reads: asked for again to say which of its paths are used.
        listed = self._source.sockets(keep=Keep("paths", (path, f"/var{path}")))
        if isinstance(listed, Unread):
            return listed
        return then(self._sockets, lambda sockets: path in map(parse_endpoint, sockets))

    @stops_at_unread
    def _flags(self, found: KubeletUnit) -> _Flags:
        words = need(found.flag_words(self._source))
        docker = {"--docker": "yes"} if found.process is not None and "--docker" in words else {}
        return _Flags({**parse_flags(words), **docker}, found.process is not None)

    @stops_at_unread
    def _files(self, flags: _Flags, distribution: str) -> "dict[str, str]":
        """The configuration file, and over it the drop-ins of its directory; of a distribution its own file."""
        if distribution:
            path = KUBELET_FILES.get(distribution, "")
            return _own_values(path, self._source.read(path, keep=DISTRIBUTION)) if path else {}
        files = Files(self._source)
        paths = [flags.of("--config")] if flags.of("--config") else [] if flags.runs else list(KUBELET_CONFIGS)
        values: dict[str, str] = {}
        for path in (*paths, *(files.drop_ins(flags.of("--config-dir")) if flags.of("--config-dir") else ())):
            values |= _values(path, files.read(path))
        return values

    def _endpoint(self, flags: _Flags, values: "dict[str, str]", distribution: str) -> str:
        if values.get("docker"):
            return K3S_DOCKER
        if endpoint := values.get(_KEYS[0], "") or values.get("container-runtime-endpoint", ""):
            return parse_endpoint(endpoint)
        own = KUBELET_SOCKETS.get(distribution) or next((place.socket for place in PLACES if place.key == distribution), "")
        return own or (KUBELET_ENDPOINT if flags.runs or values else "")

    def _runtime_at(self, path: str, distribution: str) -> "str | Unread":
        """By the runtimes' configured sockets, then by their usual paths."""
        if not path:
            return ""
        by_socket = [one.key for one in self._runtimes if not isinstance(one.socket, Unread) and parse_endpoint(one.socket) == path]
        usual = [place.key for place in PLACES if place.socket == path]
        keys = [*by_socket, *(["docker"] if path in DOCKER_ENDPOINTS else []), *usual]
        if distribution in keys:
            return distribution
        return keys[0] if keys else Unread("error", f"the kubelet asks {path}, and no runtime that is known listens there")


def _by_flag(flags: _Flags) -> str:
    """The endpoint by flag, which overrides files; "" without one."""
    return K3S_DOCKER if flags.of("--docker") else parse_endpoint(flags.of(_ENDPOINT)) if flags.of(_ENDPOINT) else ""


def _own_values(path: str, data: "bytes | Unread") -> "dict[str, str]":
    """The values of a distribution's own file."""
    if isinstance(data, Unread) and data.why == "absent":
        return {}
    from hostagent.core.yamlfile import YamlError, parse_foreign_yaml  # 16 ms, where there is a file

    try:
        return _texts(parse_foreign_yaml(need(data)))
    except YamlError as error:
        raise UnreadError(Unread("error", f"{path}: {error}"[:300])) from error


def _values(path: str, data: "bytes | Unread") -> "dict[str, str]":
    """The values of a kubelet's file, parsed as the kubelet does."""
    if isinstance(data, Unread) and data.why == "absent":
        return {}
    from hostagent.domains.kubelet.config.documents import parsed
    from hostagent.domains.kubelet.config.values import Members

    try:
        document = parsed(need(data)).value
    except ValueError as error:
        raise UnreadError(Unread("error", f"{path}: {error}"[:300])) from error
    return _texts(dict(document) if isinstance(document, Members) else {})


def _texts(document: Any) -> "dict[str, str]":
    found = document if isinstance(document, dict) else {}
    return {str(key): str(value) for key, value in found.items() if isinstance(value, str | bool) and value}
