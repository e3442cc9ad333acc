"""The next reboot takes a kernel without an nvidia module: the host works now and comes back without its GPUs.

A kernel update installs at once and takes effect at the next boot. Where the module of that kernel was not built
(no headers, a failed DKMS build) or is not published yet (precompiled packages lag behind), nothing shows it until then.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.kernel import Kernel
from hostagent.facts.unread import Unread
from hostagent.profile import Profile


@check(
    title="The kernel of the next boot has an nvidia module",
    severity="warning",
    since="0.1",
    remedy="Before the next reboot install the module of that kernel (its package, or its headers and 'dkms autoinstall -k <kernel>'), "
    "or make a kernel that has one the default entry and hold the kernel packages.",
    references=("NVIDIA/yum-packaging-precompiled-kmod issues 35 and 50",),
)
def next_has_module(kernel: Kernel, profile: Profile) -> Findings:
    if profile.driver.owner != "host":
        skip("the driver's owner brings the module")
    following = need(kernel.next_release)
    if following == need(kernel.release):
        skip(f"the next boot takes the kernel that kernel.module_present judges, {following}")
    one = kernel.at(following)
    if isinstance(one, Unread) or not need(one.nvidia_path):
        yield fail(
            f"the next boot takes kernel {following}, which has no nvidia module",
            code="missing",
            found="none",
            wanted=f"nvidia.ko of {following}",
        )
