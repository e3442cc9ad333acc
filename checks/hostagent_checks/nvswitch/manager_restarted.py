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
        Step("reboot", "Or reboot the node, if a reset is not possible.", if_back=True),
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
    later_s = min(one.started_at for one in managers) - min(one.started_at for one in holders)
    if later_s <= params.settled_s:
        return
    if need(need(manager).mode):
        skip("the fabric manager shares the NVSwitches, and is made to be restarted")
    if _started_before(need(manager), later_s):
        name = min(holders, key=lambda one: one.started_at).name
        text = f"the fabric manager started after the GPUs were set up: {_span(later_s)} after {name}, which holds them since"
        yield fail(text, code="restarted", found="started later", wanted="started before, or GPUs reset since")


def _started_before(manager: FabricManager, later_s: float) -> bool:
    """Whether the log has an earlier start of this boot; without any start in it, a start long after the GPUs were in use counts."""
    starts = manager.starts
    if isinstance(starts, Unread):
        return later_s > _HOUR_S if starts.why in ("absent", "denied") else bool(need(starts))
    if not starts:
        return later_s > _HOUR_S
    return any(0 < starts[-1] - one <= later_s + _CLOCK_S for one in starts[:-1])


def _span(seconds: float) -> str:
    return (
        f"{seconds / 86400:.0f} days"
        if seconds >= 2 * 86400
        else f"{seconds / 3600:.0f} hours"
        if seconds >= 2 * 3600
        else f"{seconds / 60:.0f} minutes"
    )
