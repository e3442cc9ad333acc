"""Desired state: built-in profiles, a site file, ``--profile``; each value knows where it came from."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Literal, NamedTuple

from hostagent.errors import HostagentError
from hostagent.facts.frozen import frozen
from hostagent.shape import ShapeError, build, plain
from hostagent.vocabulary import Severity

SCHEMA_VERSION = 1
SITE_FILE = "/etc/hostagent/profile.yaml"
BUILT_IN = os.path.join(os.path.dirname(__file__), "profiles")
MAX_BYTES = 256 * 1024
_NEXT_STEP = "See 'hostagent schema profile' and 'hostagent profile show default'"

Owner = Literal["host", "container"]


@frozen
class DriverPolicy:
    """Versions are constraints as `hostagent.facts.version.satisfies` reads them."""

    owner: Owner
    version: str
    install: str
    flavour: Literal["any", "open", "proprietary"]


@frozen
class CudaPolicy:
    """``toolkit`` is a constraint on the CUDA toolkit; empty asks for none."""

    toolkit: str


@frozen
class ToolkitPolicy:
    """The NVIDIA Container Toolkit: accepted versions, and the one that is installed."""

    owner: Owner
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


@frozen
class RuntimePolicy:
    """How containers get GPUs on a ready host."""

    kind: Literal["any", "none", "containerd", "docker", "crio"]
    access: Literal["either", "handler", "cdi"]
    default_runtime: str


@frozen
class RdmaPolicy:
    """``peermem``: nvidia_peermem must be loaded."""

    peermem: bool


@frozen
class ImexPolicy:
    """``required``: IMEX must be configured and running."""

    required: bool


@frozen
class ReportPolicy:
    """``valid_for_s``: seconds until a verdict is stale."""

    valid_for_s: int


@frozen
class CheckPolicy:
    """What a profile says of one check. ``off`` is the reason it is turned off for; ``""`` leaves it on."""

    off: str = ""
    severity: Literal["", Severity] = ""
    params: Mapping[str, Any] = field(default_factory=dict)


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
    nvml: Literal["required", "optional"]
    gpus: GpuPolicy
    runtime: RuntimePolicy
    rdma: RdmaPolicy
    imex: ImexPolicy
    report: ReportPolicy
    checks: Mapping[str, CheckPolicy]


class Loaded(NamedTuple):
    """A profile and, for each dotted path that some layer set, the layer that set it last."""

    profile: Profile
    origins: Mapping[str, str]
    site: str  # the site file that is laid over it, "" for none

    @property
    def title(self) -> str:
        """What a report calls it: ``tao-7.1``, ``tao-7.1 + /etc/hostagent/profile.yaml``."""
        return f"{self.profile.name} + {self.site}" if self.site else self.profile.name

    @property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of the effective values."""
        import hashlib
        import json

        return hashlib.sha256(json.dumps(plain(self.profile), sort_keys=True).encode()).hexdigest()[:16]

    def origin(self, path: str) -> str:
        """The layer that set `path`, or the nearest enclosing path that a layer set."""
        while path and path not in self.origins:
            path = path.rpartition(".")[0]
        return self.origins.get(path, "default")


def names() -> tuple[str, ...]:
    """The built-in profiles."""
    return tuple(sorted(name[:-5] for name in os.listdir(BUILT_IN) if name.endswith(".yaml")))


def load(name: str = "", *, site_file: str = SITE_FILE, overlay: Mapping[str, Any] | None = None) -> Loaded:
    """Default profile, then what `name` (built-in name or path) extends, then it, then the site file.

    Without `name` the site file may choose the profile by its own ``extends``. Raises ``HostagentError``.
    """
    layers: list[tuple[str, dict[str, Any]]] = []
    site = _read(site_file) if os.path.lexists(site_file) else {}
    parent = str(site.get("extends") or "default")
    chosen = name or (os.path.join(os.path.dirname(site_file), parent) if _is_path(parent) else parent)
    for label, data in _chain(chosen, ()):
        layers.append((label, data))
    if site:
        layers.append((site_file, {key: value for key, value in site.items() if key not in ("name", "extends")}))
    if overlay:
        layers.append(("overlay", dict(overlay)))
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for label, data in layers:
        _merge(merged, data, label, origins, "")
    return Loaded(_built(merged, chosen, origins), origins, site_file if site else "")


def validate(path: str) -> Loaded:
    """Load one file as `load` would, without the site file: for ``profile validate``."""
    return load(os.path.abspath(path), site_file="")


def _chain(name: str, seen: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    if name in seen:
        raise HostagentError(f"profile {name!r} extends itself through {' -> '.join(seen)}", "Break the circle")
    built_in = os.path.join(BUILT_IN, f"{name}.yaml")
    is_file = _is_path(name)
    if not is_file and name not in names():
        raise HostagentError(
            f"found no profile {name!r}, wanted a file or one of {', '.join(names())}",
            "Run 'hostagent profile list'",
        )
    data = _read(name if is_file else built_in)
    data = {"name": name, **data} if is_file else data
    parent = data.get("extends", "default" if name != "default" else "")
    if parent:
        beside = os.path.join(os.path.dirname(name), str(parent))  # a file's parent is found from the file
        yield from _chain(beside if is_file and _is_path(str(parent)) else str(parent), (*seen, name))
    yield name, data


def _is_path(name: str) -> bool:
    return os.sep in name or name.endswith((".yaml", ".yml"))


def _read(path: str) -> dict[str, Any]:
    from hostagent.yamlfile import YamlError, load_yaml

    try:
        data = load_yaml(path, MAX_BYTES)
    except YamlError as error:
        raise HostagentError(f"profile {path}: {error}", _NEXT_STEP) from error
    data = {} if data is None else data  # an empty file overrides nothing
    if not isinstance(data, dict):
        raise HostagentError(
            f"profile {path}: found a {'list' if isinstance(data, list) else 'single value'}, wanted keys and values", _NEXT_STEP
        )
    version = data.get("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise HostagentError(f"profile {path}: schema_version is {version!r}, wanted {SCHEMA_VERSION}", _NEXT_STEP)
    try:
        build(Profile, data, f"profile {path}", missing=lambda _: None)
    except ShapeError as error:
        raise HostagentError(str(error), _NEXT_STEP) from error
    return data


def _merge(into: dict[str, Any], data: Mapping[str, Any], label: str, origins: dict[str, str], prefix: str) -> None:
    for key, value in data.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict):
            into[key] = dict(into[key]) if isinstance(into.get(key), dict) else {}
            _merge(into[key], value, label, origins, f"{path}.")
        else:
            into[key] = value
            origins[path] = label


def _built(merged: dict[str, Any], name: str, origins: Mapping[str, str]) -> Profile:
    try:
        profile: Profile = build(Profile, merged, f"profile {name}")
    except ShapeError as error:
        raise HostagentError(str(error), _NEXT_STEP) from error
    for path, problem in _out_of_range(profile):
        raise HostagentError(f"profile {origins.get(path, name)}: {path}: {problem}", _NEXT_STEP)
    return profile


def _out_of_range(profile: Profile) -> Iterator[tuple[str, str]]:
    from hostagent.facts.version import ConstraintError, parse_constraint

    constraints = {
        "driver.version": profile.driver.version,
        "toolkit.version": profile.toolkit.version,
        "cuda.toolkit": profile.cuda.toolkit,
    }
    for path, constraint in constraints.items():
        try:
            parse_constraint(constraint)
        except ConstraintError as error:
            yield path, str(error)
    if profile.gpus.count < 0:
        yield "gpus.count", f"found {profile.gpus.count}, wanted 0 or more"
    if profile.report.valid_for_s <= 0:
        yield "report.valid_for_s", f"found {profile.report.valid_for_s}, wanted seconds above 0"
