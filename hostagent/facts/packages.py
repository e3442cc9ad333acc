"""Installed packages, and their pins, holds, repositories and upgrades."""

from fnmatch import fnmatchcase

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread


def names(pattern: str, name: str) -> bool:
    """Whether a glob of package names names this one.

    >>> names("libnvidia-*", "libnvidia-compute-580"), names("nvidia", "nvidia-open")
    (True, False)
    """
    return fnmatchcase(name, pattern)


@frozen
class Package:
    """One installed or half-installed package of the families that hostagent reads (nvidia*, cuda*, kernels, runtimes)."""

    name: str
    version: str  # as the package manager prints it: [epoch:]version[-revision]
    upstream: str | Unread  # epoch, revision and distribution suffix stripped: what NVIDIA calls the version
    arch: str
    state: str  # "installed", or dpkg's state: half-configured, unpacked, half-installed, triggers-pending …
    held: bool  # dpkg hold; or a pin or version lock that covers the package
    origin: str  # "cuda" (NVIDIA's repository), "distribution", "toolkit" (one of the toolkit's packages), "unknown"


@frozen
class VersionLock:
    """One pin of apt's preferences to a version, or one entry of a version lock of dnf, zypper or tdnf."""

    file: str
    package: str  # name or glob; apt's "src:NAME" is a source package
    version: str  # version or glob; "" any


@frozen
class AptSource:
    """One apt source that names an NVIDIA repository."""

    file: str
    uri: str  # without credentials, with its closing slash
    suite: str  # "/" of a flat repository
    signed_by: str  # keyring path or fingerprint; "" when not given, "embedded" for a key in the source itself
    trusted: bool
    enabled: bool


@frozen
class Packages:
    """The package database of the host."""

    manager: str | Unread  # dpkg, rpm
    installed: tuple[Package, ...] | Unread  # sorted by name, then architecture
    interrupted: bool | Unread  # dpkg: /var/lib/dpkg/updates is not empty
    locks: tuple[VersionLock, ...] | Unread
    ignored_preferences: tuple[str, ...] | Unread  # preferences files that name NVIDIA and that apt ignores for their name
    apt_sources: tuple[AptSource, ...] | Unread
    apt_keys: tuple[tuple[str, str], ...] | Unread  # (keyring file, 16 hex digits of the key id) of keyrings NVIDIA's sources use
    apt_version: str | Unread  # upstream version of the package apt
    apt_sqv: bool | Unread  # sqv is installed: apt 3 then verifies with it, under a policy that refuses SHA-1
    unattended_upgrades: bool | Unread  # automatic upgrades are on
    unattended_blacklist: tuple[str, ...] | Unread  # globs of package names that they leave alone
    unattended_origins: tuple[str, ...] | Unread  # apt: what they may upgrade from; dnf: "*"
    module_streams: tuple[tuple[str, str], ...] | Unread  # dnf: (module, enabled stream)
