"""CDI specifications and the units that refresh them."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread


@frozen
class CdiSpec:
    """One specification file in a CDI directory that names a kind of nvidia.com, or that names nvidia and is no specification."""

    path: str
    error: str  # why the CDI library refuses the file, "" when it takes it
    cdi_version: str
    kind: str  # nvidia.com/gpu, management.nvidia.com/gpu …
    devices: tuple[str, ...]  # names: 0, GPU-…, all, 0:1
    library_versions: tuple[str, ...]  # versions of libcuda.so.* and libnvidia-ml.so.* it mounts
    missing_paths: tuple[str, ...] | Unread  # host paths it names that do not exist
    uvm_majors: tuple[int, ...]  # majors it fixes for /dev/nvidia-uvm*; () when it names the node by path alone


@frozen
class Cdi:
    """All specifications, in the order in which the runtime reads the directories (the later wins)."""

    specs: tuple[CdiSpec, ...] | Unread
    devices: tuple[str, ...] | Unread  # names that a runtime resolves, qualified: nvidia.com/gpu=0
    duplicates: tuple[str, ...] | Unread  # "nvidia.com/gpu=0 in A and B": in one directory, so that neither is used
    etc_is_volatile: bool | Unread  # /etc/cdi is in memory: its files were made since the boot
    generated: bool | Unread  # a specification is in /var/run/cdi, which is empty after a boot; not-running in an image
    refresh_enabled: bool | Unread  # the unit that makes nvidia-ctk's specification at each boot is enabled
    refresh_result: str | Unread  # success when `generated`, else systemd's Result of the last nvidia-cdi-refresh run
    refresh_after_target: bool | Unread  # the installed refresh unit orders itself After=multi-user.target
    refresh_cycles: tuple[str, ...] | Unread  # units in an ordering cycle by it: docker.service
