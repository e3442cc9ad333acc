"""Names of what runs an NVLink fabric on a host, and how a host shows that it has one.

Sources: NVIDIA Fabric Manager User Guide (release 580: packages, service, NVLink 5 and nvlsm), NVIDIA Driver Installation
Guide (the packages of 580 and later have no branch in their names), NVIDIA IMEX Service Guide, open-gpu-kernel-modules
linux_nvswitch.c (driver name). State of 2026-08.
"""

from collections.abc import Iterable

from hostagent.facts.gpu import Fabric
from hostagent.facts.packages import Package
from hostagent.facts.system import Kernel, Machine
from hostagent.facts.unread import Unread, need

MANAGER_UNIT = "nvidia-fabricmanager"
MANAGER_PROCESS = "nv-fabricmanager"
MANAGER_PACKAGES = ("nvidia-fabricmanager", "nvidia-fabric-manager")
NVLSM_PROCESS = "nvlsm"
#: Modules without which nvlsm cannot reach the switches of NVLink 5.
NVLSM_MODULES = ("mlx5_core", "ib_umad")
IMEX_UNIT = "nvidia-imex"
IMEX_PROCESS = "nvidia-imex"
IMEX_PACKAGES = ("nvidia-imex",)
#: Through these DCGM and other monitors talk to the switches; a version other than the driver's sees none.
LIBRARY_PACKAGES = ("libnvidia-nscq", "libnvsdm")
NVSWITCH_DRIVER = "nvidia-nvswitch"
#: What the fabric manager logs when its version is not the driver's.
MISMATCH = "don't match with driver version"


def local_switches(fabric: Fabric) -> str:
    """What fabric this host itself has to run, in words. Raises ``UnreadError`` (not-supported) where it has none.

    A compute node of GB200 has GPUs on a fabric and runs none of it: its switches are elsewhere.
    """
    if switches := need(fabric.nvswitches):
        return f"{len(switches)} NVSwitches"
    if bridges := need(fabric.nvlink5_managers):
        return f"NVLink 5 switches behind {', '.join(bridges)}"
    return need(Unread("not-supported", "this host has no NVSwitch of its own"))


def nvlink5_bridges(fabric: Fabric) -> tuple[str, ...]:
    """The HCAs that lead to NVLink 5 switches. Raises ``UnreadError`` (not-supported) where there is none."""
    return need(fabric.nvlink5_managers) or need(Unread("not-supported", "this host has no NVLink 5 switches of its own"))


def named(packages: Iterable[Package], stems: Iterable[str]) -> tuple[Package, ...]:
    """Those packages whose name is one of `stems`, or one with a branch at its end: nvidia-fabricmanager-570."""
    wanted = tuple(stems)
    return tuple(one for one in packages if _stem(one.name) in wanted)


def _stem(name: str) -> str:
    """The name without a branch at its end.

    >>> _stem("nvidia-fabricmanager-570"), _stem("nvidia-fabric-manager"), _stem("nvidia-fabricmanager-dev-570")
    ('nvidia-fabricmanager', 'nvidia-fabric-manager', 'nvidia-fabricmanager-dev')
    """
    stem, _, last = name.rpartition("-")
    return stem if stem and last.isdigit() else name


def remedy_of(package: Package, kernel: Kernel) -> str:
    """What to do about a package that has not the loaded driver's version: after an upgrade it has that of the module on disk.

    "" for the check's own remedy. Taking the package back would leave it behind at the reboot that is due.
    """
    running = kernel.at(kernel.release)
    on_disk = running if isinstance(running, Unread) else running.nvidia_version
    is_pending = not isinstance(on_disk, Unread) and not isinstance(package.upstream, Unread) and on_disk == package.upstream
    return "Drain the host and reboot it: the kernel module on disk has this version already." if is_pending else ""


def runs(machine: Machine, process: str) -> bool:
    """Whether the process is there; the kernel cuts names to 15 characters."""
    return any(one.name[:15] == process[:15] for one in need(machine.processes))


#: Ranges of PCI device ids, as sysfs writes them, of the GPUs of HGX B200 and B300
#: baseboards: their NVLink 5 switches show as bridges of ConnectX-7 HCAs.
BASEBOARD_GPUS = (("0x2900", "0x293f"), ("0x3180", "0x31bf"))
