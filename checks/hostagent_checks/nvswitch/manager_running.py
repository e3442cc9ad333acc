"""The fabric manager is not running.

Running jobs go on, and the GPUs still show a completed fabric; but after the next GPU reset, a fault of a link or the
next boot nobody sets the fabric up, and CUDA fails with error 802. So what counts is the process, not the fabric's last state.
"""

from hostagent.check import Findings, Step, Unread, check, fail
from hostagent.core.tables.nvlink_fabric import MANAGER_PROCESS
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Machine
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.platform import Platform

from ._switches import local_switches, runs


@check(
    title="The fabric manager runs",
    severity="critical",
    since="0.1",
    explains=("nvlink",),
    because=(
        "nvswitch.manager_version",
        "nvswitch.manager_installed",
        "nvswitch.nvlsm_running",
        "driver.loaded",
        "host.service_restarts:nvidia",
    ),
    headline="The fabric manager is not running",
    remedy=(
        Step(
            "restart_service",
            "Start the fabric manager; /var/log/fabricmanager.log says why it ended.",
            command="systemctl restart nvidia-fabricmanager",
        ),
    ),
    references=("NVIDIA Fabric Manager User Guide, section Fabric Manager Service",),
    confirm=(
        "systemctl status nvidia-fabricmanager.service",
        "journalctl -b -u nvidia-fabricmanager.service",
    ),
)
def manager_running(fabric: Fabric, machine: Machine, gpus: tuple[Gpu, ...] | Unread, platform: Platform | Unread) -> Findings:
    switches = local_switches(fabric, gpus, platform)
    if not runs(machine, MANAGER_PROCESS):
        yield fail(f"{switches}, but no {MANAGER_PROCESS} process", code="not-running", found="not running", wanted="running")
