"""The blacklist of nouveau is newer than the initramfs: the initramfs loads nouveau before the blacklist is read.

A boot that came up without nouveau from this very initramfs shows that it is harmless, and is not reported.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.driver.boot import rebuild_initramfs
from hostagent.facts.kernel import Kernel
from hostagent.facts.packages import Packages

from ._boot import following


@check(
    title="The initramfs is newer than the blacklist of nouveau",
    severity="warning",
    since="0.1",
    because=("kernel.nouveau_loaded", "kernel.nouveau_blacklisted"),
    headline="The initramfs is older than the blacklist of nouveau",
    remedy=(
        Step("configure", "Rebuild the initramfs."),
        Step("reboot", "Reboot the node."),
    ),
    references=("initramfs-tools(7)", "dracut(8)"),
    confirm=(
        "lsinitramfs /boot/initrd.img-<kernel> | grep -E 'nouveau|modprobe.d'  # Debian, Ubuntu",
        "lsinitrd /boot/initramfs-<kernel>.img | grep -E 'nouveau|modprobe.d'  # RHEL, SUSE",
    ),
)
def nouveau_initramfs(kernel: Kernel, packages: Packages | Unread) -> Findings:
    for one in following(kernel):
        built, written = need(one.initramfs_mtime), need(kernel.nouveau_blacklist_mtime)
        if built < written and not _is_proved(kernel, one.release, built):
            message = f"{need(one.initramfs)} is older than the blacklist of nouveau"
            steps = (rebuild_initramfs(packages, one.release), REBOOT)
            yield fail(message, code="older", found="older", wanted="rebuilt after it", remedy=steps)


def _is_proved(kernel: Kernel, release: str, built: float) -> bool:
    modules = kernel.loaded_modules
    if isinstance(modules, Unread) and modules.why == "not-running":
        return False
    return "nouveau" not in need(modules) and release == need(kernel.release) and built < need(kernel.booted_at)
