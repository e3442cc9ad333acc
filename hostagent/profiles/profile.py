"""Desired state: the profile, merged from its layers; each value has its origin."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hostagent.core.errors import HostagentError
from hostagent.core.frozen import frozen
from hostagent.core.typed import Mistake, ShapeError, build, plain
from hostagent.core.vocabulary import Severity
from hostagent.profiles.files import fingerprint, trusted_owners
from hostagent.profiles.format import RENAMES, Rename, impossible
from hostagent.profiles.install import InstallPolicy
from hostagent.profiles.layers import Reader, is_path, parent_name, warnings
from hostagent.profiles.rdma import RdmaPolicy

if TYPE_CHECKING:
    from hostagent.profiles.mistakes import Place

SITE_FILE = "/etc/hostagent/profile.yaml"

Owner = Literal["host", "container", "provider", "any"]


@frozen
class DriverPolicy:
    """Versions are constraints as `hostagent.facts.version.satisfies` reads them."""

    owner: Owner
    version: str
    install: str
    flavour: Literal["any", "open", "proprietary"]


@frozen
class CudaPolicy:
    """``toolkit`` is a constraint on the CUDA toolkit, ``install`` the version (13.0) that `hostagent install` installs; empty: none."""

    toolkit: str
    install: str = ""


@frozen
class ToolkitPolicy:
    """The NVIDIA Container Toolkit: accepted versions, and the one to install."""

    owner: Owner
    required: Literal["auto", "always", "never"]
    version: str
    install: str


@frozen
class GpuPolicy:
    """What the GPUs of a ready host are."""

    required: bool
    count: int
    product: str
    ecc: Literal["any", "enabled", "disabled"]
    mig: Literal["any", "enabled", "disabled"]
    persistence: bool
    passthrough: Literal["auto", "any"] | tuple[str, ...]


@frozen
class RuntimePolicy:
    """How containers get GPUs on a ready host."""

    kind: Literal["auto", "any", "none", "containerd", "docker", "crio"]
    access: Literal["either", "handler", "cdi"]
    default_runtime: str


@frozen
class ImexPolicy:
    """``required``: IMEX must be configured and running."""

    required: bool


@frozen
class ConfigzPolicy:
    """Address (``HOST:PORT``) of the running kubelet's configz, with files of its CA and a token; all "" for none."""

    address: str
    ca: str
    token_file: str


@frozen
class KubeletPolicy:
    configz: ConfigzPolicy


@frozen
class SlurmPolicy:
    """``worker``: whether this host is a worker of Slurm, on which slurmd must run; auto: where its unit is enabled or slurm.conf
    has this host as a node.
    """

    worker: Literal["auto", "yes", "no"]


@frozen
class TopologyPolicy:
    """``cpu_nodes_per_package``: NUMA nodes with CPUs that a socket has (SNC, NPS); 0 takes any."""

    cpu_nodes_per_package: int


@frozen
class PodPolicy:
    """What a pod's one container asks for: ``gpus`` 0 are all, 0 of the others none; ``cpus`` and ``memory`` are Kubernetes' quantities."""

    gpus: int = 0
    cpus: int | str = 0
    memory: int | str = 0
    nics: int = 0

    @property
    def text(self) -> str:
        """The shape as ``hostagent topology --pod`` takes it: ``gpus=0,cpus=96``."""
        asked = (("cpus", self.cpus), ("memory", self.memory), ("nics", self.nics))
        return ",".join((f"gpus={self.gpus}", *(f"{key}={value}" for key, value in asked if str(value) != "0")))


@frozen
class ReportPolicy:
    """``valid_for_s``: seconds until a verdict is stale."""

    valid_for_s: int


@frozen
class CheckPolicy:
    """Settings of one check. ``off`` is the reason for turning it off; ``""`` leaves it on. `excepted` are the subjects for which alone it
    is turned off, as a report names them; one that a host lacks is no mistake.
    """

    off: str = ""
    severity: Literal["", Severity] = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    excepted: tuple[str, ...] = field(default=(), metadata={"key": "except"})  # a keyword of Python


@frozen
class Profile:
    """One host's desired state, merged. Build it with `load`."""

    schema_version: int
    name: str
    description: str
    extends: str
    catalogues: tuple[str, ...]
    driver: DriverPolicy
    cuda: CudaPolicy
    toolkit: ToolkitPolicy
    install: InstallPolicy
    nvml: Literal["required", "optional"]
    verbs: Literal["required", "optional"]
    pci_configuration: Literal["required", "optional"]
    gpus: GpuPolicy
    runtime: RuntimePolicy
    rdma: RdmaPolicy
    imex: ImexPolicy
    kubelet: KubeletPolicy
    slurm: SlurmPolicy
    topology: TopologyPolicy
    pods: Mapping[str, PodPolicy]
    security: Literal["advisory", "warning", "critical"]
    report: ReportPolicy
    quarantine: tuple[str, ...]  # ids of checks, see `hostagent.engine.report.state.document`
    checks: Mapping[str, CheckPolicy]


class Loaded(NamedTuple):
    """A profile and, for each dotted path that some layer set, the layer that set it last."""

    profile: Profile
    origins: Mapping[str, str]
    site: str  # the site file merged over it, "" for none
    files: tuple[tuple[str, str], ...] = ()  # absolute path or built-in:NAME, and the SHA-256 of what was read ("": no such file)
    warnings: tuple[str, ...] = ()  # sentences for the user, one a key
    newer: frozenset[str] = frozenset()  # the layers with a newer schema minor than ours
    sources: Mapping[str, bytes] = MappingProxyType({})  # the files of layers, for the lines of mistakes

    @property
    def title(self) -> str:
        """Its name in reports: ``tao-7.1``, ``tao-7.1 + /etc/hostagent/profile.yaml``."""
        return f"{self.profile.name} + {self.site}" if self.site else self.profile.name

    @property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of the effective values."""
        import json

        return fingerprint(json.dumps(plain(self.profile), sort_keys=True).encode())[:16]

    def origin(self, path: str) -> str:
        """The layer that set `path`, or something below it, or the nearest enclosing path that a layer set."""
        below = [] if path in self.origins else [layer for known, layer in self.origins.items() if known.startswith(f"{path}.")]
        return below[-1] if below else self.value_origin(path)

    def value_origin(self, path: str) -> str:
        """The same for a single value, which has nothing below it."""
        while path and path not in self.origins:
            path = path.rpartition(".")[0]
        return self.origins.get(path, "default")

    def is_newer(self, path: str) -> bool:
        """Whether the layer that set `path` has a newer schema minor: unknown keys there are no mistake."""
        return self.origin(path) in self.newer

    def without(self, check_id: str, param: str = "") -> "Loaded":
        """Without the policy of one check, or one of its parameters, and with a warning about it."""
        path = f"checks.{check_id}.params.{param}" if param else f"checks.{check_id}"
        checks = dict(self.profile.checks)
        policy = checks.pop(check_id)
        if param:
            checks[check_id] = replace(policy, params={name: value for name, value in policy.params.items() if name != param})
        return self._replace(
            profile=replace(self.profile, checks=checks),
            origins={known: layer for known, layer in self.origins.items() if known != path and not known.startswith(f"{path}.")},
            warnings=(*self.warnings, f"profile {self.origin(path)}: {path} is ignored: no catalogue that is installed has it"),
        )


def load(
    name: str = "",
    *,
    site_file: str = SITE_FILE,
    overlay: Mapping[str, Any] | None = None,
    renames: tuple[Rename, ...] = RENAMES,
    any_owner: bool = False,
) -> Loaded:
    """Default profile, then what `name` (built-in name or path) extends, then it, then the site file.

    Without `name` the site file may choose the profile by its own ``extends``. Raises ``HostagentError``: as root also for a file that
    other users could have written, unless `any_owner`.
    """
    reader = Reader(Profile, renames, () if any_owner else trusted_owners())
    site = reader.site(site_file)
    chosen = name or parent_name(site_file, str(site.data.get("extends") or "default"))
    laid_over = {key: value for key, value in site.data.items() if key not in ("name", "extends")}
    layers = [*reader.chain(chosen), site._replace(data=laid_over), *([reader.layer("overlay", overlay)] if overlay else [])]
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for one in layers:
        _merge(merged, one.data, one.label, origins, "")
    loaded = Loaded(
        _built(merged, chosen),
        origins,
        site_file if site.data else "",
        tuple(dict.fromkeys(file for one in layers for file in one.files)),
        warnings(layers),
        frozenset(one.label for one in layers if one.is_newer),
        {one.label: one.raw for one in layers},
    )
    refuse_mistakes(loaded, [place for one in layers for place in one.mistakes], impossible(loaded.profile))
    return loaded


def refuse_mistakes(loaded: Loaded, places: "Iterable[Place]", mistakes: Iterable[Mistake]) -> None:
    """Raises ``ProfileError`` for `places`, and for `mistakes` in the values of `loaded`, if there are any."""
    found, places = tuple(mistakes), tuple(places)
    if not found and not places:
        return
    from hostagent.profiles.mistakes import ProfileError, placed

    by_layer: dict[str, list[Mistake]] = {}
    for one in found:
        by_layer.setdefault(loaded.origin(".".join(map(str, one.path))), []).append(one)
    for layer, ones in by_layer.items():
        places += tuple(placed(layer, loaded.sources.get(layer, b""), ones))
    raise ProfileError(places, loaded)


def validate(path: str) -> Loaded:
    """Load one file as `load` would, without the site file: for ``profile validate``."""
    return load(file_name(path), site_file="", any_owner=True)


def file_name(path: str) -> str:
    """`path` as a file name, also where a built-in profile has the same name."""
    return path if is_path(path) else os.path.join(".", path)


def _merge(into: dict[str, Any], data: Mapping[str, Any], label: str, origins: dict[str, str], prefix: str) -> None:
    for key, value in data.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict):
            into[key] = dict(into[key]) if isinstance(into.get(key), dict) else {}
            _merge(into[key], value, label, origins, f"{path}.")
            if prefix and not into[key]:
                origins[path] = label  # an empty mapping has no values below
        else:
            into[key] = value
            origins[path] = label


def _built(merged: dict[str, Any], name: str) -> Profile:
    try:
        profile: Profile = build(Profile, merged, f"profile {name}")
    except ShapeError as error:  # the layers are valid: a damaged built-in one lacks a key
        from hostagent.core.installation import damaged_step

        raise HostagentError(str(error), damaged_step()) from error
    return profile
