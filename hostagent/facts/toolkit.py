"""The NVIDIA Container Toolkit."""

from hostagent.facts.frozen import frozen
from hostagent.facts.packages import Package
from hostagent.facts.unread import Unread


@frozen
class Toolkit:
    """Packages, binaries and configuration of the toolkit on the host."""

    packages: tuple[Package, ...] | Unread  # of the four; () when none is installed
    version: str | Unread  # lowest upstream version of the packages; where none says it, what `nvidia-ctk --version` says
    binaries: tuple[tuple[str, bool], ...] | Unread  # (path, executable) of those that exist
    config_path: str | Unread
    config_error: str | Unread  # "" when config.toml parses
    mode: str | Unread  # nvidia-container-runtime.mode: auto, legacy, cdi, jit-cdi, csv
    operator_version: str | Unread  # of the GPU Operator's toolkit (/usr/local/nvidia/toolkit), "" when that is not there
