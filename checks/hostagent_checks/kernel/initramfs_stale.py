"""The initramfs is older than the last change of its kernel's modules.

Where it holds an nvidia module, the next boot loads that old one, and the user libraries do not match it, after each
reboot again. Most servers keep the driver out of it, so this alone is no fault: `driver.reload_needed` says so when it is one.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.kernel import Kernel


@check(
    title="The initramfs is younger than its kernel's modules",
    severity="info",
    since="0.1",
    remedy="Rebuild it: 'update-initramfs -u -k <kernel>' (Debian, Ubuntu) or 'dracut --force --kver <kernel>'.",
    references=("initramfs-tools(7)", "dracut(8)"),
)
def initramfs_stale(kernel: Kernel) -> Findings:
    one = need(kernel.at(kernel.next_release))
    if not need(one.nvidia_path):
        skip(f"kernel {one.release} has no nvidia module")
    if need(one.initramfs_mtime) < need(one.indexed_at):
        yield fail(
            f"{need(one.initramfs)} is older than the modules of kernel {one.release}",
            code="older",
            found="older",
            wanted="rebuilt after them",
        )
