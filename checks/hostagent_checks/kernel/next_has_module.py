"""The kernel of the next boot has no nvidia module that fits: the host works now and comes back without its GPUs.

A kernel update installs at once and takes effect at the next boot. Where the module of that kernel was not built
(no headers, a failed DKMS build) or is not published yet (precompiled packages lag behind), nothing shows it until then.
Where the boot loader's entry could not be read, any installed kernel may be the next one.
"""

from hostagent.check import Findings, Step, check, fail, need, skip, warn
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.unread import Unread
from hostagent.profile import Profile

from ._boot import is_image
from ._fit import mended_by, misfit

_PACKAGE = (
    "Before the next reboot install the module package of that kernel from the origin of the one that is there, or make a kernel that has "
    "one the default entry and hold the kernel packages."
)


@check(
    title="The kernel of the next boot has an nvidia module that fits",
    severity="warning",
    since="0.1",
    headline="The kernel of the next boot has no nvidia module that fits",
    remedy=(
        Step(
            "install",
            "Before the next reboot install the module of that kernel (its package, or its headers, then build it); or make a kernel "
            "that has one the default entry, and hold the kernel packages.",
            command="dkms autoinstall -k <kernel>",
        ),
    ),
    references=("NVIDIA/yum-packaging-precompiled-kmod issues 35 and 50", "Linux kernel, kernel/module/version.c, same_magic"),
    confirm=(
        "ls -l /boot/vmlinuz-*",
        "find /lib/modules -name 'nvidia*.ko*'",
        "dkms status",
    ),
)
def next_has_module(kernel: Kernel, driver: Driver, profile: Profile) -> Findings:
    owner = profile.driver.owner
    if owner in ("container", "provider") or (owner == "any" and need(driver.container_driver)):
        skip("the driver's owner brings the module")
    is_known = not isinstance(kernel.next_release, Unread)
    if is_known and need(kernel.next_release) == need(kernel.release):
        same = kernel.at(kernel.release)
        if isinstance(same, Unread) or not need(same.nvidia_path) or misfit(same, kernel, driver):
            skip(f"kernel.module_present and kernel.module_vermagic judge kernel {need(kernel.release)}")
        return
    if not is_known and is_image(kernel):
        need(kernel.next_release)
    takes = "takes" if is_known else "may take"
    for release in need(kernel.next_releases):
        one = kernel.at(release)
        if isinstance(one, Unread) or not need(one.nvidia_path):
            message = f"the next boot {takes} kernel {release}, which has no nvidia module"
            yield fail(
                message,
                code="missing",
                found="none",
                wanted=f"nvidia.ko of {release}",
                headline=f"The next boot {takes} kernel {release}, which has no nvidia module",
                remedy=_remedy(driver, release),
            )
        elif found := misfit(one, kernel, driver):
            report = fail if found.refused else warn
            message = f"the next boot {takes} kernel {release}: {found.message}"
            yield report(message, code=found.code, found=found.found, wanted=found.wanted, remedy=mended_by(one, driver), action="install")


def _remedy(driver: Driver, release: str) -> tuple[Step, ...]:
    """Where DKMS builds nothing, packages bring the modules."""
    if not isinstance(driver.dkms, Unread) and not driver.dkms:
        return (Step("install", _PACKAGE),)
    return (
        Step("install", f"Before the next reboot install the headers of {release} (linux-headers-{release}, kernel-devel-{release})."),
        Step(
            "install", "Build the module; the log of a build that fails is make.log below /var/lib/dkms.", f"dkms autoinstall -k {release}"
        ),
    )
