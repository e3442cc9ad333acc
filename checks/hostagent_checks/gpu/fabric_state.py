"""The GPU has not joined its NVLink fabric: CUDA fails with error 802, 'system not yet initialized'.

The fabric manager, on this host or on the switches of a rack, registers each GPU. What counts is a registration that is
completed and succeeded. The state stays as it was when the manager dies: `nvswitch.manager_running` looks at that.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.core.tables.nvlink_fabric import has_hidden_switches
from hostagent.facts.gpu import Gpu
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.platform import Platform

_OF_THE_RACK = (Step("contact_owner", "Ask who runs the fabric manager of this rack to register the GPU."),)


@check(
    title="The GPU has joined its NVLink fabric",
    severity="critical",
    order=61,  # after the fabric manager's own faults, which are its causes
    since="0.1",
    explains=("nvlink",),
    because=(
        "nvswitch.manager_version",
        "nvswitch.manager_running",
        "nvswitch.manager_installed",
        "nvswitch.manager_errors",
        "nvswitch.board",
        "nvswitch.fabric_mode",
        "nvswitch.nvlsm_modules",
        "nvswitch.nvlsm_running",
    ),
    headline="{device} has not joined its NVLink fabric",
    remedy=(Step("restart_service", "Restart the fabric manager.", command="systemctl restart nvidia-fabricmanager"),),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetGpuFabricInfoV", "NVIDIA Fabric Manager User Guide, CUDA error 802"),
    confirm=(
        "nvidia-smi -q -i <address> | grep -A4 Fabric",
        "systemctl status nvidia-fabricmanager.service",
    ),
)
def fabric_state(gpu: Gpu, switches: Fabric | Unread, platform: Platform | Unread) -> Findings:
    fabric = need(gpu.fabric)
    steps = _OF_THE_RACK if _are_elsewhere(switches) and not _is_on_own_board(gpu, platform) else ()
    if fabric.state == "not-supported":
        skip("this GPU joins no fabric")
    if fabric.state != "completed":
        yield fail(f"the GPU's registration is {fabric.state}", code="not-completed", found=fabric.state, wanted="completed", remedy=steps)
    elif fabric.status != 0:
        text = f"the GPU's registration ended with NVML error {fabric.status}"
        yield fail(text, code="failed", found=f"error {fabric.status}", wanted="success", remedy=steps)


def _is_on_own_board(gpu: Gpu, platform: Platform | Unread) -> bool:
    """On an HGX B200 or B300 of bare metal: no bridge shows its switches while its driver is missing."""
    if isinstance(platform, Unread) or isinstance(platform.virtual, Unread) or platform.virtual:
        return False
    return not isinstance(gpu.device_id, Unread) and has_hidden_switches(gpu.device_id)


def _are_elsewhere(switches: Fabric | Unread) -> bool:
    """Known to be: this host has neither NVSwitches nor bridges to some."""
    if isinstance(switches, Unread):
        return False
    both = (switches.nvswitches, switches.nvlink5_managers)
    return all(not isinstance(one, Unread) and not one for one in both)
