"""Nothing keeps nouveau from being loaded: at one of the next boots it may take the GPUs before the nvidia module does.

Which of the two wins is a race at each boot. A kernel without a nouveau module needs no blacklist.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.kernel import Kernel
from hostagent.profile import Profile

from ._boot import following


@check(
    title="The nouveau driver is blacklisted",
    severity="warning",
    since="0.1",
    remedy="Put 'blacklist nouveau' and 'options nouveau modeset=0' into /etc/modprobe.d/blacklist-nouveau.conf and rebuild the initramfs "
    "('update-initramfs -u' or 'dracut --force').",
    references=("modprobe.d(5)", "NVIDIA Driver Installation Guide, section Disabling Nouveau"),
)
def nouveau_blacklisted(kernel: Kernel, profile: Profile) -> Findings:
    if not any(need(one.nouveau) for one in following(kernel)):
        skip("the kernel of the next boot has no nouveau module")
    if not need(kernel.nouveau_blacklisted):
        yield fail(
            "no modprobe.d file and no kernel argument blacklists nouveau", code="not-blacklisted", found="none", wanted="a blacklist"
        )
