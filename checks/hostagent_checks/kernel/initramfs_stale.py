"""The initramfs is older than the last change of its kernel's modules.

If it contains an nvidia module, each boot loads that old one, and the user libraries do not match it. Most servers keep the
driver out of it, so this alone is no fault: `driver.reload_needed` says so when it is one.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.driver.boot import rebuild_initramfs
from hostagent.facts.kernel import Kernel
from hostagent.facts.packages import Packages

from ._boot import following


@check(
    title="The initramfs is newer than its kernel's modules",
    severity="info",
    since="0.1",
    headline="The initramfs is older than its kernel's modules",
    remedy=(Step("configure", "Rebuild the initramfs of that kernel."),),
    references=("initramfs-tools(7)", "dracut(8)"),
    confirm=("ls -l --full-time /boot/init* /lib/modules/*/modules.dep",),
)
def initramfs_stale(kernel: Kernel, packages: Packages | Unread) -> Findings:
    kernels = following(kernel)
    with_module = [one for one in kernels if need(one.nvidia_path)]
    for one in with_module:
        if need(one.initramfs_mtime) < need(one.indexed_at):
            message = f"{need(one.initramfs)} is older than the modules of kernel {one.release}"
            steps = (rebuild_initramfs(packages, one.release),)
            yield fail(message, code="older", found="older", wanted="rebuilt after them", remedy=steps)
    if not with_module or len(with_module) < len(kernels):
        need(kernel.next_release)
        skip("a kernel of the next boot has no nvidia module")
