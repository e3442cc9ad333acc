"""dpkg was killed in the middle of its work: by a power loss, a reboot or a job that ran out of memory.

Every later apt run stops with "dpkg was interrupted", so no fix, no hold and no upgrade reaches this host until it is resolved.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.facts.host import Machine
from hostagent.facts.packages import Packages


@check(
    title="No run of dpkg was interrupted",
    severity="warning",
    since="0.1",
    headline="A run of dpkg was interrupted",
    remedy=(Step("install", "Finish the interrupted run; this is safe to repeat.", command="dpkg --configure -a"),),
    references=("dpkg(1), option --configure",),
    confirm=("dpkg --audit",),
)
def package_interrupted(packages: Packages, machine: Machine) -> Findings:
    if need(packages.interrupted):
        if not isinstance(machine.package_lock_holder, Unread) and machine.package_lock_holder:
            skip(f"{machine.package_lock_holder.partition(' ')[0]} is still running")
        yield fail(
            "an earlier run of dpkg was interrupted", code="interrupted", found="unfinished work in /var/lib/dpkg/updates", wanted="none"
        )
