"""The NVIDIA Container Toolkit: packages, binaries, configuration, and the copy the GPU Operator puts on a host."""

import re
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from hostagent.collect.tomltext import parse_toml
from hostagent.collect.values import stops_at_unread
from hostagent.facts.packages import Package, Packages
from hostagent.facts.toolkit import Toolkit
from hostagent.facts.unread import Unread, need, then
from hostagent.facts.version import compare_upstream, upstream
from hostagent.knowledge.packages import TOOLKIT_PACKAGES
from hostagent.source import Source
from hostagent.source.keep import Keep

_BINARIES = ("nvidia-cdi-hook", "nvidia-container-cli", "nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-ctk")
_CTK = "/usr/bin/nvidia-ctk"
CONFIG = "/etc/nvidia-container-runtime/config.toml"
_OPERATOR = "/usr/local/nvidia/toolkit"
_BY_VERSION = cmp_to_key(compare_upstream)


def parse_ctk_version(text: str) -> "str | Unread":
    r"""The version in what ``nvidia-ctk --version`` prints.

    >>> parse_ctk_version("NVIDIA Container Toolkit CLI version 1.19.0\ncommit: 889a3bb5408c195ed7897ba2cb8341c7d249672f\n")
    '1.19.0'
    """
    match = re.search(r"\bversion[: ]+v?(\S+)", text)
    return upstream(match[1]) if match else Unread("error", f"nvidia-ctk --version: found {text[:80]!r}")


def parse_config(data: bytes) -> str:
    r"""The mode in config.toml, "auto" where it names none; raises ``ValueError``.

    >>> parse_config(b'[nvidia-container-runtime]\nmode = "legacy"')
    'legacy'
    """
    runtime = parse_toml(data).get("nvidia-container-runtime", {})
    mode = runtime.get("mode", "auto") if isinstance(runtime, dict) else None
    if isinstance(mode, str):
        return mode or "auto"
    raise ValueError("nvidia-container-runtime.mode is not a text")


def parse_operator_files(names: tuple[str, ...]) -> "str | Unread":
    """The version of the GPU Operator's toolkit, which only the name of its library tells without running it.

    >>> parse_operator_files(("libnvidia-container.so.1", "libnvidia-container.so.1.19.1", "nvidia-ctk"))
    '1.19.1'
    """
    found = [name.removeprefix("libnvidia-container.so.") for name in names if re.match(r"libnvidia-container\.so\.[0-9]+\.[0-9]", name)]
    return upstream(found[0]) if found else Unread("error", f"{_OPERATOR} has no libnvidia-container.so with a version in its name")


def read_toolkit(source: Source, known: Callable[[type], Any]) -> Toolkit:
    packages = _packages(known(Packages))
    binaries = _binaries(source)
    lowest = _lowest(packages)
    binary_version = _binary_version(source, lowest)
    path, error, mode = _config(source)
    return Toolkit(
        packages=packages,
        version=binary_version if isinstance(lowest, Unread) and not isinstance(binary_version, Unread) else lowest,
        binaries=binaries,
        config_path=path,
        config_error=error,
        mode=mode,
        operator_version=_operator_version(source),
    )


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


def _binaries(source: Source) -> "tuple[tuple[str, bool], ...] | Unread":
    found = []
    for name in _BINARIES:
        stat = source.stat(f"/usr/bin/{name}")
        if isinstance(stat, Unread):
            if stat.why != "absent":
                return stat
            continue
        found.append((f"/usr/bin/{name}", stat.kind == "file" and bool(stat.mode & 0o111)))
    return tuple(found)


@stops_at_unread
def _binary_version(source: Source, packaged: "str | Unread") -> "str | Unread":
    """Asked of the binary only where no package tells: a program is started for nothing else."""
    if not isinstance(packaged, Unread):
        return Unread("not-supported", "the package tells the version")
    if not need(source.exists(_CTK)):
        return Unread("absent", f"no {_CTK}")
    return then(source.run(_CTK, "--version", keep=Keep("head", ("4096",))), lambda answer: parse_ctk_version(answer.stdout))


def _config(source: Source) -> "tuple[str | Unread, str | Unread, str | Unread]":
    data = source.read(CONFIG, keep=Keep("toml", ("nvidia-container-runtime/mode",)))
    if isinstance(data, Unread):
        return data, data, data
    try:
        return CONFIG, "", parse_config(data)
    except ValueError as error:
        return CONFIG, str(error)[:200], Unread("error", f"{CONFIG}: {error}"[:300])


def _operator_version(source: Source) -> "str | Unread":
    return then(source.listdir(_OPERATOR, absent=()), lambda names: parse_operator_files(names) if names else "")
