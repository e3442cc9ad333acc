"""An update waits for a reboot. Until then new programs meet an old kernel or an old driver.

Running jobs go on; what starts anew may fail, often days after the update. Drain the node and reboot it at a time of your
choice, before it chooses one.
"""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.system import Machine
from hostagent.facts.unread import Unread


@check(
    title="No installed update waits for a reboot",
    severity="warning",
    since="0.1",
    remedy="Drain the node, then reboot it.",
    references=("Debian Policy and update-notifier: /run/reboot-required",),
)
def reboot_pending(machine: Machine) -> Findings:
    if need(machine.reboot_required):
        reasons = machine.reboot_reasons
        by = "not said" if isinstance(reasons, Unread) else ", ".join(reasons) or "not said"
        yield fail(f"a reboot is pending for: {by}; wanted none", code="pending", found=by, wanted="none")
