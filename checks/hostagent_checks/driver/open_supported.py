"""The flavour of the kernel module cannot drive this GPU: the GPU never starts, whatever else is right.

The open module needs Turing or newer. Grace Hopper and Blackwell have no proprietary module. A host with GPUs older than
Turing and newer ones needs the proprietary one, and cannot hold Blackwell. A GPU that this release does not know
counts as supported where NVML lists it. GPUs of virtual machines, and display cards if another GPU works, are left out.
"""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, skip
from hostagent.core.tables.pci import architecture, flavours, is_display_card
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.kernel import Kernel

from ._module import module_flavour


@check(
    title="The kernel module's flavour can drive this GPU",
    severity="critical",
    proved_by=("driver.nvml_initialises", "gpu.count_agrees"),
    since="0.1",
    headline="The kernel module's flavour cannot drive {device}",
    remedy=(
        Step("install", "Replace the kernel module's packages with those of the other flavour."),
        REBOOT,
    ),
    references=("NVIDIA Driver Installation Guide, section Kernel Modules", "supported-gpus.json of the driver, feature kernelopen"),
    confirm=(
        "lspci -nn -s <address>",
        "modinfo -F license nvidia  # 'Dual MIT/GPL' is open, 'NVIDIA' is proprietary",
        "journalctl -k -g NVRM",
    ),
)
def open_supported(gpu: Gpu, gpus: tuple[Gpu, ...], driver: Driver, kernel: Kernel) -> Findings:
    device = need(gpu.device_id)
    able = flavours(device)
    if not able:
        if gpu.in_nvml is not True:
            need(Unread("error", f"this release does not know the GPU with device id {device}"))
        return
    found = module_flavour(driver, kernel)
    if found not in able:
        _skip_left_out(gpu, gpus, driver)
        yield fail(
            f"{architecture(device)} ({device}) needs the {able[0]} module, not the {found} one",
            code="cannot-drive",
            found=found,
            wanted=able,
            remedy=(Step("install", f"Replace the kernel module's packages with the {able[0]} ones."), REBOOT),
        )


def _skip_left_out(gpu: Gpu, gpus: tuple[Gpu, ...], driver: Driver) -> None:
    """A GPU of a virtual machine, and a display card on a host where NVML lists another GPU; unknown where it may be one of these."""
    bound_to = need(gpu.bound_to)
    if bound_to == "vfio-pci":
        skip("the GPU is bound to vfio-pci, for a virtual machine")
    version, flavour = driver.loaded_version, driver.flavour
    is_absent = any(isinstance(one, Unread) and one.why in NOT_APPLICABLE for one in (version, flavour))
    if is_absent or bound_to not in ("", "nouveau") or not need(gpu.vga):
        return
    others = [one.in_nvml for one in gpus if one.pci != gpu.pci]
    if is_display_card(need(gpu.device_id), bound_to, need(version), need(flavour), vga=True):
        if True not in [one for one in others if not isinstance(one, Unread)]:
            for one in others:
                need(one)
            return
        skip("this is a display card, next to GPUs for jobs")
