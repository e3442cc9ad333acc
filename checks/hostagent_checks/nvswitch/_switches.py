"""The switches that this host itself has to run, and the daemons that do it.

A compute node of GB200 has GPUs on a fabric and runs none of it: its switches are elsewhere.
"""

from hostagent.check import Unread, counted, need, skip
from hostagent.core.tables.nvlink_fabric import has_hidden_switches
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Machine
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.platform import Platform


def local_switches(fabric: Fabric, gpus: tuple[Gpu, ...] | Unread | None = None, platform: Platform | Unread | None = None) -> str:
    """What fabric this host has to run, in words; the check does not apply where it has none."""
    if switches := need(fabric.nvswitches):
        return counted(len(switches), "NVSwitch")
    return _nvlink5(fabric, gpus, platform) or skip("this host has no NVSwitch of its own")


def nvlink5_switches(fabric: Fabric, gpus: tuple[Gpu, ...] | Unread, platform: Platform | Unread) -> str:
    """The NVLink 5 switches of this host, in words; the check does not apply where there are none."""
    return _nvlink5(fabric, gpus, platform) or skip("this host has no NVLink 5 switches of its own")


def _is_on_own_baseboard(gpus: tuple[Gpu, ...] | Unread | None, platform: Platform | Unread | None) -> bool:
    """Whether GPUs of an HGX B200 or B300 are here with the whole machine: the switches are there, also without a driver of the
    bridges to them. A virtual machine may have the GPUs alone.
    """
    if gpus is None or platform is None or isinstance(gpus, Unread):
        return False
    if not any(not isinstance(gpu.device_id, Unread) and has_hidden_switches(gpu.device_id) for gpu in gpus):
        return False
    return need(need(platform).virtual) != "vm"


def _nvlink5(fabric: Fabric, gpus: tuple[Gpu, ...] | Unread | None, platform: Platform | Unread | None) -> str:
    bridges = fabric.nvlink5_managers
    if not isinstance(bridges, Unread) and bridges:
        return f"NVLink 5 switches behind {', '.join(bridges)}"
    if _is_on_own_baseboard(gpus, platform):
        return "NVLink 5 switches of the GPUs' board"
    return "NVLink 5 switches" if need(bridges) else ""


def runs(machine: Machine, process: str) -> bool:
    """Whether the daemon is there."""
    return bool(need(machine.daemons(process)))
