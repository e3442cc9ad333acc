"""The kernel's clock follows no time source: certificates and leases fail, and logs of several hosts cannot be compared.

Read from the kernel (adjtimex), so that any time daemon counts.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.host import Machine
from hostagent.facts.unread import Unread


@check(
    title="The clock is synchronised",
    severity="warning",
    since="0.1",
    headline="The clock is not synchronised",
    remedy=(
        Step(
            "restart_service",
            "Start a time daemon (chronyd or systemd-timesyncd), and see that it reaches its servers.",
            command="systemctl enable --now chronyd",
        ),
    ),
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
        yield fail(
            f"the clock is not synchronised (time daemon: {by}), wanted synchronised",
            code="unsynchronised",
            found=by,
            wanted="synchronised",
        )
