"""slurmd does not run: Slurm takes the node for down and starts no job here.

After a failed start (a gres.conf that names a device which is not there, a controller that does not answer) it is down until it is started
again. A host is a worker of Slurm where slurmd's unit is enabled and has a slurm.conf, or a server that gives it one (`--conf-server`, or
the copies that an earlier slurmd has left), and where the profile says so (`slurm.worker`). Some clouds start slurmd at each boot by a
program of theirs, and do not enable it: there a host is a worker if slurm.conf has a node of its name and the unit is not masked; not with
a kubelet, which may start slurmd in pods, nor where something listens on slurmd's port. Such a program may take ten minutes of a boot.
Debian's `slurm-wlm` enables slurmd on the controller as well: a host that slurm.conf calls a controller, and no node, is no worker. A
slurmd that another service has started counts as running, too; one in a person's session does not, for any user's program may have that
name. While cloud-init still sets the host up, and in the first two minutes of a boot, systemd may be about to start it.
"""

from typing import NamedTuple

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.system.starting import why_starting
from hostagent.facts.gpu import GpuEvents
from hostagent.facts.host import Machine, Services, Unit
from hostagent.facts.slurm import SlurmNode
from hostagent.profile import Profile

_READ = Step("restart_service", "Read why slurmd ended, and correct it.", "journalctl -b -u slurmd")
_START = Step("restart_service", "Start slurmd.", "systemctl start slurmd")
_ENABLE = Step("restart_service", "Enable slurmd, and start it.", "systemctl enable --now slurmd")
_NAMED = Step("restart_service", "If this host is no worker of Slurm, mask slurmd, or set 'slurm.worker: no' in its profile.")
_BY_HAND = Step("restart_service", "Start slurmd the way this site does.")
_DISABLE = Step("restart_service", "If this host is no worker of Slurm, disable slurmd, or set 'slurm.worker: no' in its profile.")
_NO_WORKER = Step("configure", "If this host is no worker of Slurm, set 'slurm.worker: auto' in its profile.")


class Params(NamedTuple):
    """boot_seconds: how long after a boot slurmd may still be started, seconds
    other_seconds: how long after a boot a slurmd that is not enabled may still be started, seconds
    """

    boot_seconds: int = 120
    other_seconds: int = 600


@check(
    title="slurmd runs on a worker of Slurm",
    severity="critical",
    since="0.1",
    because=("slurm.munge_running", "slurm.gres:no-file", "slurm.gres:bad-count", "host.service_restarts:slurmd"),
    headline="slurmd is not running: Slurm starts no job here",
    remedy=(_READ, _START),
    references=("Slurm, slurmd(8)",),
    confirm=("systemctl status slurmd", "journalctl -b -u slurmd"),
)
def slurmd_running(
    services: Services, machine: Machine, slurm: SlurmNode, events: GpuEvents | Unread, profile: Profile, params: Params
) -> Findings:
    worker = profile.slurm.worker
    if worker == "no":
        skip("the profile says that this host is no worker of Slurm")
    unit = need(services.unit("slurmd"))
    is_enabled = unit.exists and need(unit.enabled)
    if worker == "auto" and not is_enabled and not (unit.exists and _is_expected(slurm)):
        skip("slurmd is not enabled here")
    if need(machine.daemons("slurmd")):
        return
    if worker == "auto" and is_enabled:
        _skip_unused(slurm)
    if reason := why_starting(machine, events, params.boot_seconds if is_enabled else params.other_seconds):
        skip(f"{reason}: slurmd may be about to start")
    if is_enabled:
        yield fail(
            "slurmd's unit is enabled, and slurmd is not running",
            code="stopped",
            found="stopped",
            wanted="running",
            remedy=(_READ, _START, _DISABLE) if worker == "auto" else (),
        )
    else:
        says = "the profile says that this host is a worker of Slurm" if worker != "auto" else "slurm.conf has a node of this host's name"
        yield fail(
            f"{says}, and slurmd is {_state(unit)}",
            code="not-started",
            found=_state(unit),
            wanted="running",
            remedy=(_READ, _START, _NAMED) if worker == "auto" else (_ENABLE if unit.exists else _BY_HAND, _NO_WORKER),
        )


def _is_expected(slurm: SlurmNode) -> bool:
    """Whether slurm.conf says so; raises ``UnreadError`` where it may, and cannot be read."""
    expected = slurm.expected
    return not (isinstance(expected, Unread) and expected.why in NOT_APPLICABLE) and need(expected)


def _state(unit: Unit) -> str:
    if not unit.exists:
        return "not running"
    return "masked" if need(unit.masked) else "not enabled and not running"


def _skip_unused(slurm: SlurmNode) -> None:
    """The check does not apply where packages have enabled a slurmd without a slurm.conf, for which its unit waits, or on a controller."""
    conf = slurm.conf
    if isinstance(conf, Unread) and conf.why == "absent":
        if not need(slurm.configless):
            skip("slurmd has no slurm.conf here")
    else:
        need(conf)
    if slurm.only_controls is True:
        skip("slurm.conf calls this host a controller, and has no node of its name")
