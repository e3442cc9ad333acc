"""An update waits for a reboot. Until then new programs meet an old kernel or an old driver.

Running jobs go on; what starts again may fail, often days after the update. Drain the node and reboot it at a time of your
choice, before it chooses one, and never before the kernel it boots into has an nvidia module (see `kernel.next_has_module`).
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.facts.host import Machine
from hostagent.facts.kernel import Kernel

_NOT_YET = (
    Step("install", "Do not reboot yet: first give the kernel of the next boot an nvidia module."),
    REBOOT,
)


@check(
    title="No installed update waits for a reboot",
    severity="warning",
    since="0.1",
    because=("driver.library_match", "kernel.next_has_module", "driver.reload_needed"),
    headline="An installed update waits for a reboot",
    remedy=(REBOOT,),
    references=("Debian Policy and update-notifier: /run/reboot-required",),
    confirm=(
        "cat /run/reboot-required.pkgs  # Debian, Ubuntu",
        "needs-restarting -r  # RHEL",
    ),
)
def reboot_pending(machine: Machine, kernel: Kernel) -> Findings:
    if need(machine.reboot_required):
        reasons = machine.reboot_reasons
        by = "" if isinstance(reasons, Unread) else first_of(reasons)
        remedy = _NOT_YET if _loses_the_driver(kernel) else ()
        text = f"a reboot is pending, because of {by}" if by else "a reboot is pending"
        yield fail(text, code="pending", found=by or "not said", wanted="none", remedy=remedy)


def _loses_the_driver(kernel: Kernel) -> bool:
    """The kernel of the next boot is known, and known to have no module."""
    following = kernel.at(kernel.next_release)
    return not isinstance(following, Unread) and not isinstance(following.nvidia_path, Unread) and not following.nvidia_path
