"""The kernel's clock follows no time source: certificates and leases fail, and logs of several nodes cannot be compared.

Read from the kernel (adjtimex), so that any time daemon counts.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.facts.host import Machine

_START = (Step("restart_service", "Start a time daemon: chrony, or systemd-timesyncd.", "timedatectl set-ntp true"),)
#: By the daemon that runs and does not reach its servers.
_STEPS = {
    "chronyd": (Step("configure", "Check that chrony reaches its servers.", "chronyc sources"),),
    "systemd-timesyncd": (Step("configure", "Check that the time daemon reaches its servers.", "timedatectl timesync-status"),),
    **{name: (Step("configure", f"Check that {name} reaches its servers.", "ntpq -p"),) for name in ("ntpd", "ntpsec", "openntpd")},
}


@check(
    title="The clock is synchronised",
    severity="warning",
    since="0.1",
    headline="The clock is not synchronised",
    remedy=(Step("restart_service", "Start a time daemon, and check that it reaches its servers."),),
    references=("adjtimex(2), STA_UNSYNC",),
    confirm=(
        "timedatectl",
        "chronyc tracking",
    ),
)
def clock_synchronised(machine: Machine) -> Findings:
    if not need(machine.clock_synchronised):
        daemon = machine.time_daemon
        by = "not looked for" if isinstance(daemon, Unread) else daemon or "none runs"
        text = f"the clock is not synchronised (time daemon: {by})"
        yield fail(
            text,
            code="unsynchronised",
            found=by,
            wanted="synchronised",
            remedy=_STEPS.get("" if isinstance(daemon, Unread) else daemon, _START),
        )
