"""A package manager is running: versions in this report may change while you read it, and an installation has to wait.

It is usual for some minutes a day. A lock that is held for hours is a hung upgrade; its process says which.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.host import Machine


@check(
    title="No package manager is running",
    severity="info",
    since="0.1",
    headline="A package manager is running",
    remedy=(Step("rerun", "Wait until it ends; if it hangs, find out what it waits for before you stop it."),),
    references=("apt-get(8), DPkg::Lock::Timeout", "fcntl(2), F_GETLK"),
    confirm=(
        "fuser -v /var/lib/dpkg/lock-frontend /var/lib/apt/lists/lock  # Debian, Ubuntu",
        "fuser -v /var/lib/rpm/.rpm.lock /var/cache/dnf/*.pid  # RHEL",
    ),
)
def package_lock(machine: Machine) -> Findings:
    holder = need(machine.package_lock_holder)
    if holder:
        yield fail(f"{holder} holds the package manager's lock", code="held", found=holder, wanted="nobody")
