"""The blacklist of nouveau is younger than the initramfs: the initramfs loads nouveau before the blacklist is read.

A boot that came up without nouveau from this very initramfs shows that it is harmless, and is not reported.
"""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.kernel import Kernel
from hostagent.facts.unread import Unread


@check(
    title="The initramfs is younger than the blacklist of nouveau",
    severity="warning",
    since="0.1",
    remedy="Rebuild it: 'update-initramfs -u -k all' (Debian, Ubuntu) or 'dracut --force --regenerate-all', then reboot.",
    references=("initramfs-tools(7)", "dracut(8)"),
)
def nouveau_initramfs(kernel: Kernel) -> Findings:
    following = need(kernel.at(kernel.next_release))
    built, written = need(following.initramfs_mtime), need(kernel.nouveau_blacklist_mtime)
    if built >= written:
        return
    modules = kernel.loaded_modules
    is_image = isinstance(modules, Unread) and modules.why == "not-running"
    if not is_image and "nouveau" not in need(modules) and following.release == need(kernel.release) and built < need(kernel.booted_at):
        return
    yield fail(
        f"{need(following.initramfs)} is older than the blacklist of nouveau",
        code="older",
        found="initramfs older than the blacklist",
        wanted="rebuilt after it",
    )
