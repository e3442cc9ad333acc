"""The CDI refresh waits for multi-user.target, which waits for a unit that waits for the refresh: systemd drops that unit's start.

After a reboot docker, or whatever was told to start after the refresh, does not run; the journal says "Found ordering cycle". On a host
that runs it is a warning: `runtime.service_running` shows what this boot left out. In an image it counts in full where
the unit serves jobs.
Some releases of the toolkit ship the unit like this. A drop-in cannot clear ``After=``. Without a cycle the order still makes the
specification late: pods that need it fail for the first seconds after a boot, which counts where the profile asks for CDI.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, warn
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.domains.runtime.tables.versions import RUNTIME_UNITS
from hostagent.facts.cdi import Cdi
from hostagent.profile import Profile


@check(
    title="The CDI refresh unit is in no ordering cycle",
    severity="critical",
    since="0.1",
    headline="The CDI refresh unit is in an ordering cycle",
    remedy=(
        Step(
            "configure",
            "Take After=multi-user.target out of the unit; newer toolkits do not have it.",
            command="systemctl edit --full nvidia-cdi-refresh.service",
        ),
    ),
    references=("NVIDIA Container Toolkit issues 1735 and 1611", "systemd.unit(5), Before= and After="),
    confirm=(
        "journalctl -b -g 'ordering cycle'",
        "systemctl show -p After,Before nvidia-cdi-refresh.service",
    ),
)
def refresh_order(cdi: Cdi, choice: RuntimeChoice, profile: Profile) -> Findings:
    cycles, late = need(cdi.refresh_cycles), need(cdi.refresh_after_target)
    is_image = isinstance(cdi.generated, Unread) and cdi.generated.why == "not-running"
    serves = _units(choice) if cycles and is_image else set()
    for unit in cycles:
        yield fail(
            f"ordering cycle: {unit}, nvidia-cdi-refresh.service, multi-user.target",
            code="cycle",
            found=unit,
            wanted="no cycle",
            at_most=None if unit in serves else "warning",
        )
    if late and not cycles and profile.runtime.access == "cdi":
        yield warn(
            "nvidia-cdi-refresh.service waits for multi-user.target, so CDI devices come late after a boot",
            code="late",
            headline="The CDI refresh starts late in the boot",
            found="After=multi-user.target",
            wanted="before the runtimes",
        )


def _units(choice: RuntimeChoice) -> set[str]:
    """Units that start containers for jobs."""
    chosen = choice.serving.runtimes
    names = {name for one in chosen for name in RUNTIME_UNITS[one.key]} | {one.unit for one in need(choice.launchers.kubelets)}
    return {name if name.endswith(".socket") else f"{name}.service" for name in names}
