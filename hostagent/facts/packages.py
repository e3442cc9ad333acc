"""Installed packages, and what pins, holds, feeds and upgrades them."""

from dataclasses import dataclass

from hostagent.facts.unread import Unread


@dataclass(frozen=True)
class Package:
    """One installed or half-installed package of the families this project knows (nvidia*, cuda*, kernels, runtimes)."""

    name: str
    version: str  # as the package manager prints it: [epoch:]version[-revision]
    upstream: str  # epoch, revision and distribution suffix stripped: what NVIDIA calls the version
    arch: str
    state: str  # "installed", or dpkg's word: half-configured, unpacked, half-installed, triggers-pending …
    held: bool  # dpkg hold, apt-mark; versionlock and zypper locks count
    origin: str  # "cuda" (NVIDIA's repository), "distribution", "toolkit" (NVIDIA's toolkit repository), "unknown"
    files: tuple[str, ...] | Unread  # only for packages whose files a check asks for


@dataclass(frozen=True)
class AptSource:
    """One apt source that names an NVIDIA repository."""

    file: str
    uri: str  # without credentials
    signed_by: str  # "" when not given
    trusted: bool
    enabled: bool


@dataclass(frozen=True)
class Packages:
    """The package database of the host."""

    manager: str | Unread  # dpkg, rpm
    installed: tuple[Package, ...] | Unread  # sorted by name, then architecture
    interrupted: bool | Unread  # dpkg: /var/lib/dpkg/updates is not empty
    pins: tuple[str, ...] | Unread  # "FILE: PACKAGE pinned to VERSION at PRIORITY", and version locks
    pinned: tuple[str, ...] | Unread  # package name patterns that some pin or lock covers
    locked_versions: tuple[tuple[str, str], ...] | Unread  # (name pattern, version pattern) of each pin or lock
    ignored_preferences: tuple[str, ...] | Unread  # preferences files apt ignores for their name
    apt_sources: tuple[AptSource, ...] | Unread
    apt_keys: tuple[tuple[str, str], ...] | Unread  # (keyring file, key id in lower case) of keys apt uses for NVIDIA
    apt_version: str | Unread
    unattended_upgrades: bool | Unread  # automatic upgrades are on
    unattended_blacklist: tuple[str, ...] | Unread  # package patterns they leave alone
    module_streams: tuple[tuple[str, str], ...] | Unread  # dnf: (module, enabled stream)
