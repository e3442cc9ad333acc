"""munged does not run: slurmd cannot authenticate, so that it does not register, and neither jobs nor their steps start here.

With AuthType=auth/munge, which is Slurm's default, each message between slurmd and the controller is signed by MUNGE's daemon. It ends at
its start where its key is not there or others may read it, or where the clock or the directories are not right. A munged of another
service, or in a container, counts where its socket (AuthInfo, else munge.socket.2) shows it. Where MUNGE's unit is not there or masked,
with another AuthType (`auth/slurm`), on a host that slurm.conf calls a controller and no node, and in the first two minutes of a boot the
check does not apply.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.system.starting import why_starting
from hostagent.facts.gpu import GpuEvents
from hostagent.facts.host import Machine, Services
from hostagent.facts.slurm import SlurmNode
from hostagent.profile import Profile

_READ = Step("restart_service", "Read why munged ended, and correct it.", "journalctl -b -u munge")
_START = Step("restart_service", "Start munged.", "systemctl start munge")
_ENABLE = Step("restart_service", "Enable munged, and start it.", "systemctl enable --now munge")


class Params(NamedTuple):
    """boot_seconds: how long after a boot munged may still be started, seconds"""

    boot_seconds: int = 120


@check(
    title="munged runs on a worker of Slurm that authenticates by it",
    severity="critical",
    since="0.1",
    headline="munged is not running: slurmd cannot authenticate",
    remedy=(_READ, _START),
    references=("Slurm, slurm.conf(5)",),
    confirm=("systemctl status munge", "journalctl -b -u munge"),
)
def munge_running(
    services: Services, machine: Machine, slurm: SlurmNode, events: GpuEvents | Unread, profile: Profile, params: Params
) -> Findings:
    if profile.slurm.worker == "no":
        skip("the profile says that this host is no worker of Slurm")
    if need(slurm.munge_serves):
        return
    if slurm.only_controls is True:
        skip("slurm.conf calls this host a controller, and has no node of its name")
    if reason := why_starting(machine, events, params.boot_seconds):
        skip(f"{reason}: munged may be about to start")
    is_enabled = need(need(services.unit("munge")).enabled)
    yield fail(
        "slurmd authenticates by MUNGE (AuthType=auth/munge), and munged is not running",
        code="stopped",
        found="stopped" if is_enabled else "not enabled and not running",
        wanted="running",
        remedy=() if is_enabled else (_READ, _ENABLE),
    )
