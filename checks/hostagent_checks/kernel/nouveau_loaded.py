"""The kernel's own driver for NVIDIA GPUs, nouveau, is loaded: it holds the GPUs, and the nvidia module cannot bind them."""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.kernel import Kernel


@check(
    title="The nouveau driver is not loaded",
    severity="critical",
    since="0.1",
    remedy="Put 'blacklist nouveau' and 'options nouveau modeset=0' into /etc/modprobe.d/blacklist-nouveau.conf, rebuild the initramfs "
    "('update-initramfs -u' or 'dracut --force'), and reboot.",
    references=("NVIDIA Driver Installation Guide, section Disabling Nouveau",),
)
def nouveau_loaded(kernel: Kernel) -> Findings:
    found = sorted({"nouveau", "nova_core"} & set(need(kernel.loaded_modules)))
    if found:
        yield fail(f"{', '.join(found)} is loaded and holds the GPUs", code="loaded", found=found, wanted="not loaded")
