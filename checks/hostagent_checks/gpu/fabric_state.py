"""The GPU has not joined its NVLink fabric: CUDA fails with error 802, 'system not yet initialized'.

The fabric manager, on this host or on the switches of a rack, registers each GPU. What counts is a registration that is
completed and succeeded. The state stays as it was when the manager dies: `nvswitch.manager_running` looks at that.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.gpu import Gpu


@check(
    title="The GPU has joined its NVLink fabric",
    severity="critical",
    order=61,  # after the fabric manager's own faults, which are its causes
    since="0.1",
    because=(
        "nvswitch.manager_version",
        "nvswitch.manager_running",
        "nvswitch.manager_installed",
        "nvswitch.manager_errors",
        "nvswitch.board",
    ),
    headline="{device} has not joined its NVLink fabric",
    remedy=(
        Step(
            "restart_service",
            "Restart the fabric manager. With switches in a rack, ask who runs its fabric manager.",
            command="systemctl restart nvidia-fabricmanager",
        ),
    ),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetGpuFabricInfoV", "NVIDIA Fabric Manager User Guide, CUDA error 802"),
    confirm=(
        "nvidia-smi -q -i <address> | grep -A4 Fabric",
        "systemctl status nvidia-fabricmanager.service",
    ),
)
def fabric_state(gpu: Gpu) -> Findings:
    fabric = need(gpu.fabric)
    if fabric.state == "not-supported":
        skip("this GPU joins no fabric")
    if fabric.state != "completed":
        yield fail(f"registration is {fabric.state}", code="not-completed", found=fabric.state, wanted="completed")
    elif fabric.status != 0:
        yield fail(f"registration ended with NVML error {fabric.status}", code="failed", found=f"error {fabric.status}", wanted="success")
