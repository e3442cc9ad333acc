"""The boot loader's default entry is of a kernel that is gone, or the entry could not be read.

Neither alone is a fault of this host today. Where the entry is unread, checks of the next boot look at every installed kernel
instead, and `kernel.next_has_module` warns where one of them has no nvidia module that fits.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.kernel import Kernel


@check(
    title="The boot loader's default entry is an installed kernel",
    severity="info",
    since="0.2",
    headline="Which kernel the next boot takes is not known",
    remedy=(Step("rerun", "Run hostagent as root: only root may read the boot loader's menu."),),
    references=("GRUB manual, section Simple configuration handling, GRUB_DEFAULT", "Boot Loader Specification"),
    confirm=(
        "grep -n GRUB_DEFAULT /etc/default/grub",
        "ls -l /boot/vmlinuz-*",
        "grubby --default-kernel  # RHEL",
    ),
)
def boot_entry(kernel: Kernel) -> Findings:
    release = need(kernel.next_release)
    if release not in need(kernel.images) and release not in [one.release for one in need(kernel.installed)]:
        message = f"the boot loader's default entry is kernel {release}, which is not installed"
        steps = (Step("configure", "Make the entry of an installed kernel the default of the boot loader."),)
        headline = "The boot loader's default entry is a kernel that is not installed"
        evidence = need(kernel.images)
        yield fail(message, code="gone", found=release, wanted="an installed kernel", evidence=evidence, remedy=steps, headline=headline)
