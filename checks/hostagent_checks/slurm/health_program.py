"""Slurm does not look at this node by hostagent, or not often enough: a fault drains it late or never.

`HealthCheckProgram` runs on each node every `HealthCheckInterval` seconds. Where it runs `hostagent slurm health`, also in a wrapper, the
interval is how late a fault drains the node, and has to be shorter than `report.valid_for_s` of the profile. With the interval 0 the
program never runs. Another program, or none, is worth knowing and counts in no verdict: the site drains nodes by other means. NHC is one
of them, and nothing is said of it.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip, warn
from hostagent.facts.slurm import SlurmNode
from hostagent.profile import Profile

_OURS = Step(
    "configure",
    "If hostagent is to drain this node, set HealthCheckProgram to hostagent-health.sh.",
)
_APPLY = Step("configure", "Let Slurm read slurm.conf again.", "scontrol reconfigure")


@check(
    title="Slurm's health check program is hostagent's and runs often enough",
    severity="warning",
    since="0.1",
    headline="Slurm does not look at this node by hostagent often enough",
    remedy=(_OURS, _APPLY),
    references=("Slurm, slurm.conf(5)",),
    confirm=("scontrol show config",),
)
def health_program(slurm: SlurmNode, profile: Profile) -> Findings:
    program = need(slurm.health_program)
    if not program:
        yield fail(
            f"{need(slurm.conf)} has no HealthCheckProgram",
            code="none",
            found="none",
            wanted="hostagent slurm health",
            at_most="info",
            headline="Slurm runs no health check program on this node",
        )
        return
    if program.rpartition("/")[2] in ("nhc", "nhc-wrapper"):
        skip("Slurm's health check program is NHC")
    is_ours = slurm.health_is_ours
    if isinstance(is_ours, Unread) and is_ours.why == "absent":
        yield fail(
            f"HealthCheckProgram is {program}, which is not there",
            code="missing",
            found="no file",
            wanted=program,
            at_most="info",
            headline="Slurm's health check program is not there",
        )
    elif not need(is_ours):
        yield fail(
            f"HealthCheckProgram is {program}, which does not run 'hostagent slurm health'",
            code="other",
            found=program,
            wanted="hostagent slurm health",
            at_most="info",
            headline="Slurm's health check program is not hostagent's",
        )
    else:
        yield from _interval(need(slurm.health_interval_s), profile.report.valid_for_s)


def _interval(seconds: int, valid_for_s: int) -> Findings:
    if seconds <= 0:
        yield warn(
            "HealthCheckInterval is 0: Slurm never runs the program",
            code="never",
            found=0,
            wanted=f"less than {valid_for_s}",
            remedy=(Step("configure", "Set HealthCheckInterval in slurm.conf on the controller, such as 60."), _APPLY),
            headline="Slurm never runs its health check program: HealthCheckInterval is 0",
        )
    elif seconds >= valid_for_s:
        text = f"HealthCheckInterval is {seconds} s: a fault drains this node up to that late"
        steps = (
            Step(
                "configure",
                f"Set HealthCheckInterval in slurm.conf below {valid_for_s}, or a longer report.valid_for_s in the profile.",
            ),
            _APPLY,
        )
        yield warn(text, code="too-long", found=seconds, wanted=f"less than {valid_for_s}", remedy=steps, headline=text)
