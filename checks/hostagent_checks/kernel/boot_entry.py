"""The boot loader's default entry names a kernel that is gone, or the default entry could not be found.

Neither alone is a fault of this host today. Where the entry is unread, checks of the next boot look at every installed kernel
instead, and `kernel.next_has_module` warns where one of them has no nvidia module that fits.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.kernel import Kernel


@check(
    title="The kernel of the next boot is known",
    severity="info",
    since="0.2",
    headline="The kernel of the next boot is not known",
    remedy=(Step("rerun", "Run hostagent as root. 'grub-editenv - list' and the menu in grub.cfg say which entry is the default."),),
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
        message = f"the default entry of the boot loader takes kernel {release}, which is not installed"
        yield fail(message, code="gone", found=release, wanted="an installed kernel", evidence=need(kernel.images))
