"""Nothing keeps nouveau from being loaded: at one of the next boots it may take the GPUs before the nvidia module does.

Which of the two wins is a race at each boot. A kernel without a nouveau module needs no blacklist, and a host where
nouveau drives a display card and NVIDIA's driver another GPU cannot have one.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.core.tables.pci import is_display_card
from hostagent.domains.driver.boot import blacklist_nouveau
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.kernel import Kernel
from hostagent.facts.packages import Packages

from ._boot import following


@check(
    title="The nouveau driver is blacklisted",
    severity="warning",
    since="0.1",
    because=("kernel.nouveau_loaded",),
    headline="The nouveau driver is not blacklisted",
    remedy=(
        Step("configure", "Blacklist nouveau in /etc/modprobe.d/blacklist-nouveau.conf."),
        Step("configure", "Rebuild the initramfs."),
    ),
    references=("modprobe.d(5)", "NVIDIA Driver Installation Guide, section Disabling Nouveau"),
    confirm=(
        "modprobe -c | grep -E '(blacklist|options) nouveau'",
        "cat /proc/cmdline",
    ),
)
def nouveau_blacklisted(kernel: Kernel, gpus: tuple[Gpu, ...] | Unread, driver: Driver, packages: Packages | Unread) -> Findings:
    if not any(need(one.nouveau) for one in following(kernel)):
        skip("the kernel of the next boot has no nouveau module")
    if not need(kernel.nouveau_blacklisted):
        known = () if isinstance(gpus, Unread) else gpus
        if any(_is_nouveaus(gpu, driver) for gpu in known) and any(gpu.in_nvml is True for gpu in known):
            skip("nouveau drives a display card that is too old for NVIDIA's driver")
        text, steps = "neither modprobe.d nor the kernel command line blacklists nouveau", blacklist_nouveau(packages)
        yield fail(text, code="not-blacklisted", found="none", wanted="a blacklist", remedy=steps)


def _is_nouveaus(gpu: Gpu, driver: Driver) -> bool:
    known = (gpu.device_id, gpu.bound_to, driver.loaded_version, driver.flavour)
    words = [one for one in known if not isinstance(one, Unread)]
    return len(words) == len(known) and words[1] == "nouveau" and is_display_card(*words, vga=gpu.vga is True)
