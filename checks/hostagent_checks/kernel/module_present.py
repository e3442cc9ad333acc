"""The kernel that runs now has no nvidia module on disk: after this boot, or after an unload, no GPU can be used.

Usual cause: the kernel was updated and the module was not built for it, or the package with the precompiled module of
this kernel is missing. Debian's modules have names of their own, and a link in /etc/alternatives says which of them is meant: without
it none is. `nvidia-smi` then says that it could not communicate with the driver. Where the module is loaded all
the same, its file was removed since, and the host works until the next reboot.
"""

from hostagent.check import Findings, check, fail, need, skip, warn
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.unread import Unread
from hostagent.knowledge.os import MODULES_ELSEWHERE
from hostagent.profile import Profile

_CHOOSE = "Run 'update-alternatives --config nvidia' and keep or choose the module: that makes its links anew. Then run 'modprobe nvidia'."


@check(
    title="The running kernel has an nvidia module on disk",
    severity="critical",
    since="0.1",
    remedy="Install the module package of this kernel (Ubuntu: linux-modules-nvidia-<branch>-<kernel>), or its headers and then run "
    "'dkms autoinstall -k <kernel>'.",
    references=("depmod(8)", "NVIDIA/nvidia-docker issue 804"),
)
def module_present(kernel: Kernel, driver: Driver, os: Os, profile: Profile) -> Findings:
    if profile.driver.owner not in ("host", "any"):
        skip("the driver's owner brings the module")
    release = need(kernel.release)
    running = kernel.at(release)
    if not isinstance(running, Unread) and need(running.nvidia_path):
        return
    named = () if isinstance(running, Unread) or isinstance(running.nvidia_named, Unread) else running.nvidia_named
    others = tuple(one.release for one in need(kernel.installed) if one.release != release and need(one.nvidia_path))
    code = "not-chosen" if named else "other-kernel-has-it" if others else "missing"
    message = f"kernel {release} has no nvidia module on disk" + (f"; {', '.join(others)} has one" if others else "")
    if named:
        message = f"kernel {release} has {', '.join(named)}, and modprobe finds nothing behind the name nvidia"
    remedy = _CHOOSE if named else ""
    if driver.loaded is True:
        if need(driver.container_driver):
            skip("a driver container brought the module: driver.owner judges that")
        if (owner := need(os.managed_by)) in MODULES_ELSEWHERE:
            skip(f"{owner} loads the module from a directory of its own")
        yield warn(
            message + ", yet one is loaded", code="removed", found="loaded, not on disk", wanted="on disk", evidence=others, remedy=remedy
        )
    else:
        yield fail(message, code=code, found="none", wanted=f"nvidia.ko of {release}", evidence=others, remedy=remedy)
