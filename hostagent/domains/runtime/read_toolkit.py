"""The NVIDIA Container Toolkit: packages, binaries, configuration, and the copy that the GPU Operator installs."""

import posixpath
import re
from collections.abc import Callable, Mapping
from functools import cmp_to_key
from typing import Any, NamedTuple

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.toml import parse_toml
from hostagent.core.unread import Unread, need, then
from hostagent.domains.packages.tables.names import TOOLKIT_PACKAGES
from hostagent.domains.runtime.read_places import PLACES, binary_exists
from hostagent.domains.runtime.tables.toolkit_advisories import LOW_LEVEL_RUNTIMES, OWN_LDCONFIG
from hostagent.domains.runtime.tables.versions import FIRST_START
from hostagent.facts.packages import Package, Packages
from hostagent.facts.runtime import Runtime
from hostagent.facts.toolkit import Toolkit
from hostagent.facts.version import compare_upstream, upstream
from hostagent.host.source import Source

_BINARIES = ("nvidia-cdi-hook", "nvidia-container-cli", "nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-ctk")
_CTK = "nvidia-ctk"
#: Directories of packages, and of extensions of an immutable system.
_FOLDERS = ("/usr/bin", "/usr/local/bin")
_IN_SNAP = "/snap/docker/current/usr/bin"  # canonical/docker-snap, nvidia/lib
CONFIG = "/etc/nvidia-container-runtime/config.toml"
_OPERATOR = "/usr/local/nvidia/toolkit"
_CONFIG = Keep(
    "toml",
    (
        *("nvidia-container-runtime/mode", "nvidia-container-runtime/runtimes[]", "nvidia-container-runtime~", "nvidia-container-cli~"),
        *("nvidia-container-cli/ldconfig", "nvidia-container-cli/root", "nvidia-container-cli/no-cgroups#"),
        *("features~", "features/allow-ldconfig-from-container#"),
    ),
)
_BY_VERSION = cmp_to_key(compare_upstream)


def parse_ctk_version(text: str) -> "str | Unread":
    r"""The version in what ``nvidia-ctk --version`` prints.

    >>> parse_ctk_version("NVIDIA Container Toolkit CLI version 1.19.0\ncommit: 889a3bb5408c195ed7897ba2cb8341c7d249672f\n")
    '1.19.0'
    """
    match = re.search(r"\bversion[: ]+v?(\S+)", text)
    return upstream(match[1]) if match else Unread("error", f"nvidia-ctk --version: found {text[:80]!r}")


class ToolkitConfigError(ValueError):
    """The toolkit rejects this file; the message has the reason."""


class Config(NamedTuple):
    """The toolkit's values of config.toml."""

    mode: str
    ldconfig: str
    allows_any_ldconfig: bool
    root: str
    no_cgroups: bool
    runtimes: tuple[str, ...]


def parse_config(data: bytes) -> Config:
    r"""config.toml with the toolkit's defaults; raises ``ValueError``.

    >>> parse_config(b'[nvidia-container-runtime]\nmode = "legacy"').mode
    'legacy'
    """
    document = parse_toml(data)
    runtime, cli, features = (_table(document, name) for name in ("nvidia-container-runtime", "nvidia-container-cli", "features"))
    runtimes = runtime.get("runtimes", list(LOW_LEVEL_RUNTIMES))
    if not isinstance(runtimes, list) or not all(isinstance(one, str) for one in runtimes):
        raise ToolkitConfigError("nvidia-container-runtime.runtimes is no list of texts")
    no_cgroups = cli.get("no-cgroups", False)
    if not isinstance(no_cgroups, bool):
        raise ToolkitConfigError("nvidia-container-cli.no-cgroups is not true or false")
    return Config(
        mode=_text(runtime, "nvidia-container-runtime", "mode") or "auto",
        ldconfig=_text(cli, "nvidia-container-cli", "ldconfig") if "ldconfig" in cli else OWN_LDCONFIG,
        allows_any_ldconfig=features.get("allow-ldconfig-from-container") is True,
        root=_text(cli, "nvidia-container-cli", "root").rstrip("/"),
        no_cgroups=no_cgroups,
        runtimes=tuple(runtimes),
    )


def _table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise ToolkitConfigError(f"{name} is no table")
    return table


def _text(table: Mapping[str, Any], name: str, key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise ToolkitConfigError(f"{name}.{key} is not a text")
    return value


def parse_operator_files(names: tuple[str, ...]) -> "str | Unread":
    """The version of the GPU Operator's toolkit, from the name of its library, without running it.

    >>> parse_operator_files(("libnvidia-container.so.1", "libnvidia-container.so.1.19.1", "nvidia-ctk"))
    '1.19.1'
    """
    found = [name.removeprefix("libnvidia-container.so.") for name in names if re.match(r"libnvidia-container\.so\.[0-9]+\.[0-9]", name)]
    return upstream(found[0]) if found else Unread("error", f"{_OPERATOR} has no libnvidia-container.so with a version in its name")


def read_toolkit(source: Source, known: Callable[[type], Any]) -> Toolkit:
    packages = _packages(known(Packages))
    binaries = _binaries(source, _FOLDERS if isinstance(packages, Unread) or packages else _folders(known(Runtime)))
    lowest = _lowest(packages)
    binary_version = _binary_version(source, lowest, binaries)
    path, error, config = _config(source)
    return Toolkit(
        packages=packages,
        version=_version(lowest, binary_version),
        binaries=binaries,
        config_path=path,
        config_error=error,
        mode=then(config, lambda one: one.mode),
        ldconfig=then(config, lambda one: one.ldconfig),
        allows_any_ldconfig=then(config, lambda one: one.allows_any_ldconfig),
        root=then(config, lambda one: one.root),
        no_cgroups=then(config, lambda one: one.no_cgroups),
        runtimes=then(config, lambda one: one.runtimes),
        runtimes_found=then(config, lambda one: _programs(source, one.runtimes)),
        operator_version=_operator_version(source),
    )


def _is_absent(value: "str | Unread") -> bool:
    return isinstance(value, Unread) and value.why == "absent"


def _packages(packages: "Packages | Unread") -> "tuple[Package, ...] | Unread":
    if isinstance(packages, Unread):
        return packages
    if isinstance(packages.manager, Unread) and packages.manager.why == "absent":
        return ()
    return then(packages.installed, lambda those: tuple(one for one in those if one.name in TOOLKIT_PACKAGES))


@stops_at_unread
def _lowest(packages: "tuple[Package, ...] | Unread") -> "str | Unread":
    versions = [need(one.upstream) for one in need(packages)]
    return min(versions, key=_BY_VERSION) if versions else Unread("absent", "the NVIDIA Container Toolkit is not installed")


def _version(packaged: "str | Unread", of_binary: "str | Unread") -> "str | Unread":
    """The packages' version; without packages the binary's, even if unread, unless there is no binary either."""
    if not isinstance(packaged, Unread) or (isinstance(of_binary, Unread) and (of_binary.why == "absent" or packaged.why != "absent")):
        return packaged
    return of_binary


def _folders(runtimes: "tuple[Runtime, ...] | Unread") -> tuple[str, ...]:
    """Directories of the toolkit's programs: Docker's snap includes the toolkit."""
    has_docker = not isinstance(runtimes, Unread) and any(one.key == "docker" for one in runtimes)
    return (*_FOLDERS, _IN_SNAP) if has_docker else _FOLDERS


def _binaries(source: Source, folders: tuple[str, ...]) -> "tuple[tuple[str, bool], ...] | Unread":
    found = []
    for name in _BINARIES:
        for folder in folders:
            stat = source.stat(f"{folder}/{name}")
            if not isinstance(stat, Unread):
                found.append((f"{folder}/{name}", stat.kind == "file" and bool(stat.mode & 0o111)))
                break
            if stat.why != "absent":
                return stat
    return tuple(found)


@stops_at_unread
def _binary_version(source: Source, packaged: "str | Unread", binaries: "tuple[tuple[str, bool], ...] | Unread") -> "str | Unread":
    """The binary's version, only if no package has it: no program is run for anything else."""
    if not isinstance(packaged, Unread):
        return Unread("not-supported", "the package tells the version")
    path = next((path for path, _ in need(binaries) if path.endswith(f"/{_CTK}")), "")
    if not path:
        return Unread("absent", f"no {_CTK}")
    return then(source.run(path, "--version", keep=Keep("head", ("4096",))), lambda answer: parse_ctk_version(answer.stdout))


@stops_at_unread
def _programs(source: Source, names: tuple[str, ...]) -> tuple[str, ...]:
    """Programs in a daemon's PATH or next to a Kubernetes distribution's, which unpacks its own at its first start."""
    folders = tuple(dict.fromkeys(posixpath.dirname(path) for place in PLACES for path in place.binaries))
    found = tuple(name for name in names if need(binary_exists(source, name)) or _is_in(source, name, folders))
    return found or tuple(name for name in names if name == "runc" and _is_unpacked_at_first_start(source))


def _is_unpacked_at_first_start(source: Source) -> bool:
    return any(need(source.exists(path)) for programs in FIRST_START.values() for path in programs)


def _is_in(source: Source, name: str, folders: tuple[str, ...]) -> bool:
    return "/" not in name and any(need(source.exists(f"{folder}/{name}")) for folder in folders)


def _config(source: Source) -> "tuple[str | Unread, str | Unread, Config | Unread]":
    data = source.read(CONFIG, keep=_CONFIG)
    if isinstance(data, Unread):
        return data, data, data
    try:
        return CONFIG, "", parse_config(data)
    except ValueError as error:
        return CONFIG, str(error)[:200], Unread("error", f"{CONFIG}: {error}"[:300])


def _operator_version(source: Source) -> "str | Unread":
    return then(source.listdir(_OPERATOR, absent=()), lambda names: parse_operator_files(names) if names else "")
