"""The fabric manager started after the GPUs were set up, and none was reset since: NVLink SHARP may fail until they are.

GPUs and NVSwitches keep what the earlier fabric manager gave them. When it is restarted while something holds the GPUs, a job's
multicast groups (NVLS) fail with "invalid argument" or error 401; others run. NVIDIA's sequence is: end all users of the GPUs, reset
them, start the fabric manager. What holds the GPUs from boot on is the persistence daemon or DCGM; where one of them is younger than the
fabric manager, the GPUs may have been reset. Silent: the start at boot and systemd's restarts in its first minutes; a fabric manager
that its log shows to have started for the first time since the boot; shared NVSwitch hosts, where a restart is foreseen.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.core.tables.nvlink_fabric import GPU_HOLDERS, MANAGER_PROCESS
from hostagent.core.tables.recovery_actions import RESET_ALL
from hostagent.facts.host import Machine
from hostagent.facts.nvswitch import Fabric, FabricManager

from ._switches import local_switches

#: The log has the time of the clock, which is set after the boot; processes have that of the kernel.
_CLOCK_S = 120
_HOUR_S = 3600
_ZONES_S, _MOST_ZONE_S = 900, 14 * 3600 + _CLOCK_S


class Params(NamedTuple):
    """settled_s: a later start than that after the GPUs were set up counts, in seconds"""

    settled_s: int = 900


@check(
    title="The fabric manager started before the GPUs were in use",
    severity="info",
    since="0.1",
    explains=("nvlink",),
    because=("nvswitch.manager_errors",),
    headline="The fabric manager started after the GPUs were set up",
    remedy=(
        RESET_ALL,
        Step("reboot", "Or reboot the node: that resets them, too."),
    ),
    references=("NVIDIA/nccl issues 976 and 1488", "NVIDIA Fabric Manager User Guide, section Fabric Manager Service"),
    confirm=(
        "systemctl show -p ActiveEnterTimestamp nvidia-fabricmanager nvidia-persistenced",
        "grep 'Fabric Manager version' /var/log/fabricmanager.log",
    ),
)
def manager_restarted(fabric: Fabric, machine: Machine, manager: FabricManager | Unread, params: Params) -> Findings:
    local_switches(fabric)
    managers, holders = need(machine.daemons(MANAGER_PROCESS)), need(machine.daemons(*GPU_HOLDERS))
    if not managers or not holders:
        skip("no fabric manager runs" if not managers else "no daemon shows since when the GPUs are in use")
    started_at = min(one.started_at for one in managers)
    later_s = started_at - min(one.started_at for one in holders)
    if later_s <= params.settled_s:
        return
    if need(need(manager).mode):
        skip("the fabric manager shares the NVSwitches: FABRIC_MODE 1 and 2 allow a restart")
    if _started_before(need(manager), started_at, later_s):
        name = min(holders, key=lambda one: one.started_at).name
        text = f"the fabric manager started after the GPUs were set up: {_span(later_s)} after {name}, which holds them since"
        yield fail(text, code="restarted", found="started later", wanted="started before, or GPUs reset since")


def _started_before(manager: FabricManager, started_at: float, later_s: float) -> bool:
    """Whether the log has an earlier start of this boot; where it lacks this start, one long after the GPUs were in use counts."""
    starts = manager.starts
    if isinstance(starts, Unread) and starts.why not in ("absent", "denied"):
        need(starts)
    if isinstance(starts, Unread) or not starts or not _is_logged(starts[-1], started_at):
        return later_s > _HOUR_S
    return any(0 < starts[-1] - one <= later_s + _CLOCK_S for one in starts[:-1])


def _is_logged(logged_s: int, started_at: float) -> bool:
    """Whether a time of the log may be that of the process: both differ by the host's time zone, a multiple of 15 minutes."""
    apart_s = logged_s - started_at
    return abs(apart_s) <= _MOST_ZONE_S and (apart_s + _CLOCK_S) % _ZONES_S <= 2 * _CLOCK_S


def _span(seconds: float) -> str:
    return (
        f"{seconds / 86400:.0f} days"
        if seconds >= 2 * 86400
        else f"{seconds / 3600:.0f} hours"
        if seconds >= 2 * 3600
        else f"{seconds / 60:.0f} minutes"
    )
