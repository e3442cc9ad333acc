"""The flavour of the kernel module cannot drive this GPU: the GPU never starts, whatever else is right.

The open module needs Turing or newer. Grace Hopper and Blackwell have no proprietary module. A host with GPUs older than
Turing beside newer ones needs the proprietary one, and cannot hold Blackwell.
"""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.kernel import Kernel
from hostagent.facts.unread import Unread
from hostagent.knowledge.pci import architecture, flavours

from ._module import module_flavour


@check(
    title="The kernel module's flavour can drive this GPU",
    severity="critical",
    proved_by=("driver.nvml_initialises", "gpu.count_agrees"),
    since="0.1",
    remedy="Install the kernel module packages of the wanted flavour (driver.flavour in the profile), then reboot.",
    references=("NVIDIA Driver Installation Guide, section Kernel Modules", "supported-gpus.json of the driver, feature kernelopen"),
)
def open_supported(gpu: Gpu, driver: Driver, kernel: Kernel) -> Findings:
    device = need(gpu.device_id)
    able = flavours(device)
    if not able:
        need(Unread("error", f"this release does not know the GPU with device id {device}"))
    found = module_flavour(driver, kernel)
    if found not in able:
        yield fail(
            f"the kernel module is {found}; a GPU of architecture {architecture(device)} ({device}) needs the {able[0]} one",
            code="cannot-drive",
            found=found,
            wanted=able,
        )
