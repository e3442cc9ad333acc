"""The fabric manager is configured for virtual machines, on a host that runs jobs itself: the GPUs have no NVLink, and CUDA fails with 802.

With FABRIC_MODE=1 (shared NVSwitch) and 2 (vGPU) the fabric manager sets up no routes until a partition is activated. A host with a GPU
on vfio-pci, or one that gives vGPUs, wants that, and so does a virtual machine that manages the switches for others. GPUs whose
registration is completed have a partition. A100 GPUs report no registration: there the mode is worth knowing, and no more.
"""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.gpu.tables.fabric_modes import FABRIC_MODES
from hostagent.facts.gpu import Accelerators, Gpu
from hostagent.facts.kernel import Kernel
from hostagent.facts.nvswitch import Fabric, FabricManager
from hostagent.facts.platform import Platform

from ._switches import local_switches

_VFIO, _VGPU_MODULE = "vfio-pci", "nvidia_vgpu_vfio"
_RESTART = Step("restart_service", "Restart the fabric manager.", "systemctl restart nvidia-fabricmanager")


@check(
    title="The fabric manager's mode is that of a host that runs jobs itself",
    severity="critical",
    since="0.1",
    explains=("nvlink",),
    headline="The fabric manager waits for virtual machines: FABRIC_MODE is {found}",
    remedy=(
        Step("configure", "For jobs on this host, set FABRIC_MODE=0 in /usr/share/nvidia/nvswitch/fabricmanager.cfg."),
        _RESTART,
        Step("configure", "Or, for virtual machines, activate (fmpm -a) a partition that this lists.", "fmpm -l"),
    ),
    references=("NVIDIA Fabric Manager User Guide, sections Shared NVSwitch Virtualization Model and vGPU Virtualization Model",),
    confirm=("grep FABRIC_MODE /usr/share/nvidia/nvswitch/fabricmanager.cfg",),
)
def fabric_mode(
    fabric: Fabric,
    manager: FabricManager,
    gpus: tuple[Gpu, ...],
    accelerators: Accelerators | Unread,
    kernel: Kernel | Unread,
    platform: Platform,
) -> Findings:
    local_switches(fabric)
    mode = need(manager.mode)
    if mode not in FABRIC_MODES:
        return
    if need(platform.virtual) or not gpus:
        skip("this machine manages the switches for others")
    if any(_is_for_machines(gpu) for gpu in gpus) or _gives_gpus(accelerators, kernel):
        skip("this host gives GPUs to virtual machines")
    states = {_state(gpu) for gpu in gpus}
    if states <= {"completed"}:
        return
    yield fail(
        f"FABRIC_MODE={mode} ({FABRIC_MODES[mode]}): NVLinks stay down until a partition is activated",
        code="not-bare-metal",
        found=f"{mode} ({FABRIC_MODES[mode]})",
        wanted="0 (bare metal)",
        at_most="info" if "not-supported" in states else None,
    )


def _is_for_machines(gpu: Gpu) -> bool:
    marks = ((gpu.bound_to, (_VFIO,)), (gpu.driver_override, (_VFIO,)), (gpu.virtualization, ("host-vgpu", "host-vsga")))
    return any(not isinstance(value, Unread) and value in words for value, words in marks)


def _gives_gpus(accelerators: Accelerators | Unread, kernel: Kernel | Unread) -> bool:
    ids = () if isinstance(accelerators, Unread) or isinstance(accelerators.vfio_ids, Unread) else accelerators.vfio_ids
    modules = () if isinstance(kernel, Unread) or isinstance(kernel.loaded_modules, Unread) else kernel.loaded_modules
    return any(one.startswith("10de:") for one in ids) or _VGPU_MODULE in modules


def _state(gpu: Gpu) -> str:
    """What cannot be read and does not apply is as a GPU that reports no registration."""
    if isinstance(gpu.fabric, Unread) and gpu.fabric.why in NOT_APPLICABLE:
        return "not-supported"
    return need(gpu.fabric).state
