"""Specification of NVIDIA's worker: /proc/driver/nvidia and NVML. Heavy imports happen in the worker."""

# The driver recognises an administrator only by CAP_SYS_ADMIN (NV_IS_SUSER, open kernel modules, 550.163.01). Of the dropped
# capabilities its modules check only CAP_SYS_NICE and CAP_PERFMON, which set priorities and read profiles.
# NVML asks nvidia-persistenced over its socket before the driver whether a GPU is kept awake (nvmlDeviceGetPersistenceMode,
# 550.163.01); the daemon keeps the device open and sets no mode, and sees user 65533. Without the socket persistence would read
# as off.

from hostagent.core.answers import MIB
from hostagent.core.unread import Unread
from hostagent.domains.gpu.read_nvml_times import allowed_s
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.host.worker_reading import read_lane
from hostagent.sandbox.worker_spec import Ask, Lane, Rights

_DIRECTORY = "/proc/driver/nvidia"
_SWITCHES = "/proc/driver/nvidia-nvswitch"


def _is_wanted(path: str) -> bool:
    """Whether a file is read: not ``suspend`` and ``power``, which are unused here, since reading takes locks."""
    parts = path.removeprefix(_DIRECTORY).split("/")[1:]
    return (
        path.startswith((f"{_DIRECTORY}/capabilities/", f"{_SWITCHES}/"))
        or parts in (["version"], ["params"], ["registry"])
        or (len(parts) == 3 and parts[0] == "gpus" and parts[2] == "information")
    )


def _ask_all(ask: Ask, files: Files, root: Root) -> "Unread | None":
    from functools import partial

    from hostagent.domains.gpu import read_nvml, read_nvml_gate

    unread: Unread | None = ask((), f"opening {read_nvml_gate.CONTROL}", partial(read_nvml_gate.gate, files, root))
    return read_nvml.answer_all(ask, files, root, RIGHTS) if unread is None else unread


def _end() -> None:
    from hostagent.domains.gpu import read_nvml

    read_nvml.shut_down()


def _lock(root: Root, ends: float) -> "Unread | None":
    from hostagent.host.worker_locks import hold

    return hold("nvidia", "nvidia", root, ends, _get_ready)


def _get_ready() -> None:
    """Imports modules while another worker reads: on a busy machine imports take half of a worker's time."""
    import pynvml  # noqa: F401

    from hostagent.domains.gpu import read_nvml  # noqa: F401


#: Rights that NVML needs: docs/adr/0006-nvml-in-a-sandbox.md.
RIGHTS = Rights(
    capabilities=("sys_admin",),  # the driver treats it as administrator
    sockets=True,  # to the persistence daemon, which NVML asks first whether it keeps a GPU awake
    driver="nvidia",
    major=195,
    opens=r"nvidia(ctl|\d+)",
    reads=(
        *("/proc", "/sys", "/usr", "/lib", "/lib32", "/lib64", "/opt", "/nix/store", "/gnu/store", "/run/nvidia", "/run/opengl-driver"),
        *("/etc/ld.so.cache", "/etc/localtime", "/etc/nvidia"),
    ),
    data=("/usr/share/nvidia",),
    memory_bytes=4 * 1024 * MIB,
    files=1024,
)

NVIDIA = Lane(
    name="nvidia",
    methods=("nvml",),
    directories=(_DIRECTORY, _SWITCHES),
    is_wanted=_is_wanted,
    lock=_lock,
    allowed_s=allowed_s,
    rights=RIGHTS,
    ask_all=_ask_all,
    end=_end,
    read=read_lane,
)
