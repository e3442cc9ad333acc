"""The NVIDIA Container Toolkit."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread
from hostagent.facts.packages import Package


@frozen
class Toolkit:
    """Packages, binaries and configuration of the toolkit on the host."""

    packages: tuple[Package, ...] | Unread  # of the four; () when none is installed
    version: str | Unread  # lowest upstream version of the packages; without one that of `nvidia-ctk --version`
    binaries: tuple[tuple[str, bool], ...] | Unread  # (path, executable) of those that exist
    config_path: str | Unread
    config_error: str | Unread  # "" when config.toml parses
    mode: str | Unread  # nvidia-container-runtime.mode: auto, legacy, cdi, jit-cdi, csv
    ldconfig: str | Unread  # nvidia-container-cli.ldconfig; the toolkit's default where config.toml does not set it
    allows_any_ldconfig: bool | Unread  # features.allow-ldconfig-from-container
    root: str | Unread  # nvidia-container-cli.root without a slash at its end, "" for the host's own
    no_cgroups: bool | Unread  # nvidia-container-cli.no-cgroups
    runtimes: tuple[str, ...] | Unread  # nvidia-container-runtime.runtimes: low-level runtimes that it may run
    runtimes_found: tuple[str, ...] | Unread  # those that exist, or are packed in a program that unpacks them at its first start
    operator_version: str | Unread  # of the GPU Operator's toolkit (/usr/local/nvidia/toolkit), "" when that is not there
