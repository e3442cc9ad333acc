"""The CDI refresh waits for multi-user.target, which waits for a unit that waits for the refresh: systemd drops that unit's start.

After a reboot docker, or whatever was told to start after the refresh, does not run; the journal says "Found ordering cycle".
Some releases of the toolkit ship the unit like this. A drop-in cannot clear ``After=``. Without a circle the order still makes the
specification late: pods that need it fail for the first seconds after a boot, which counts where the profile wants CDI.
"""

from hostagent.check import Findings, Step, check, fail, need, warn
from hostagent.facts.cdi import Cdi
from hostagent.profile import Profile


@check(
    title="The CDI refresh waits for nothing that waits for it",
    severity="critical",
    since="0.1",
    headline="The CDI refresh unit is in an ordering cycle",
    remedy=(
        Step(
            "install", "Upgrade the toolkit; or take 'After=multi-user.target' out with 'systemctl edit --full nvidia-cdi-refresh.service'."
        ),
    ),
    references=("NVIDIA Container Toolkit issues 1735 and 1611", "systemd.unit(5), Before= and After="),
)
def refresh_order(cdi: Cdi, profile: Profile) -> Findings:
    cycles, late = need(cdi.refresh_cycles), need(cdi.refresh_after_target)
    for unit in cycles:
        yield fail(
            f"{unit} waits for nvidia-cdi-refresh.service, which waits for multi-user.target, which waits for {unit}",
            code="cycle",
            found=unit,
            wanted="no circle",
        )
    if late and not cycles and profile.runtime.access == "cdi":
        yield warn(
            "nvidia-cdi-refresh.service waits for multi-user.target, so that CDI devices come late after a boot",
            code="late",
            found="After=multi-user.target",
            wanted="before the runtimes",
        )
