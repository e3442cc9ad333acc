"""CDI specifications and the units that refresh them."""

from dataclasses import dataclass

from hostagent.facts.unread import Unread


@dataclass(frozen=True)
class CdiSpec:
    """One specification file in a CDI directory that names an nvidia.com kind, or that cannot be parsed."""

    path: str
    error: str  # "" when it parses and is a CDI specification
    cdi_version: str
    kind: str  # nvidia.com/gpu
    devices: tuple[str, ...]  # names: 0, GPU-…, all, 0:1
    library_versions: tuple[str, ...]  # versions of libcuda.so.* and libnvidia-ml.so.* it mounts
    missing_paths: tuple[str, ...] | Unread  # host paths it names that do not exist
    uvm_majors: tuple[int, ...]  # majors it fixes for /dev/nvidia-uvm*; () when it names the node by path alone
    mtime: float | Unread


@dataclass(frozen=True)
class Cdi:
    """All specifications, in the order in which the runtime reads the directories (the later wins)."""

    specs: tuple[CdiSpec, ...] | Unread
    duplicates: tuple[str, ...] | Unread  # "nvidia.com/gpu=0 in A and B"
    refresh_result: str | Unread  # result of the last nvidia-cdi-refresh run: success, failed, "" unknown to systemd
    refresh_cycle: bool | Unread  # the installed unit orders itself After=multi-user.target
