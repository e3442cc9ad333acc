"""The kernel of the next boot has no nvidia module that fits: the host works now and comes back without its GPUs.

A kernel update installs at once and takes effect at the next boot. Where the module of that kernel was not built
(no headers, a failed DKMS build) or is not published yet (precompiled packages lag behind), nothing shows it until then.
Where the boot loader's entry could not be read, any installed kernel may be the next one.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip, warn
from hostagent.domains.driver.boot import Parts, install_module
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.profile import Profile

from ._boot import is_image
from ._fit import misfit, repaired_by

_BEFORE = "before the next reboot, "
_AGAIN = Step("rerun", "Check again before you reboot.", "hostagent check --only kernel.next_has_module")


@check(
    title="The kernel of the next boot has a matching nvidia module",
    severity="warning",
    since="0.1",
    headline="The kernel of the next boot has no matching nvidia module",
    remedy=(
        Step("install", "Before the next reboot, install the nvidia module of that kernel."),
        _AGAIN,
    ),
    references=("NVIDIA/yum-packaging-precompiled-kmod issues 35 and 50", "Linux kernel, kernel/module/version.c, same_magic"),
    confirm=(
        "ls -l /boot/vmlinuz-*",
        "find /lib/modules -name 'nvidia*.ko*'",
        "dkms status",
    ),
)
def next_has_module(kernel: Kernel, driver: Driver, packages: Packages | Unread, os: Os | Unread, profile: Profile) -> Findings:
    owner = profile.driver.owner
    if owner in ("container", "provider") or (owner == "any" and need(driver.container_driver)):
        skip("the driver's owner provides the module")
    is_known = not isinstance(kernel.next_release, Unread)
    if is_known and need(kernel.next_release) == need(kernel.release):
        same = kernel.at(kernel.release)
        if isinstance(same, Unread) or not need(same.nvidia_path) or misfit(same, kernel, driver):
            skip(f"kernel.module_present and kernel.module_vermagic check kernel {need(kernel.release)}")
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
                remedy=(*install_module(Parts(kernel, driver, packages, os), release, _BEFORE), _AGAIN),
            )
        elif found := misfit(one, kernel, driver):
            report = fail if found.refused else warn
            message = f"the next boot {takes} kernel {release}: {found.message}"
            steps = (*repaired_by(one, driver, packages, os), _AGAIN)
            yield report(message, code=found.code, found=found.found, wanted=found.wanted, remedy=steps)
