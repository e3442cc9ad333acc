"""The host has NVSwitches and no fabric manager: CUDA fails with error 802, 'system not yet initialized'.

A driver without it installs and lists all GPUs. Hosts whose switches are elsewhere (GB200) need none.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.host import Machine, Services
from hostagent.facts.nvswitch import Fabric
from hostagent.knowledge.fabric import MANAGER_PROCESS, MANAGER_UNIT

from ._switches import local_switches, runs


@check(
    title="A fabric manager is installed for the NVSwitches",
    severity="critical",
    since="0.1",
    headline="This host has NVSwitches and no fabric manager",
    remedy=(
        Step("install", "Install nvidia-fabricmanager in the driver's version, and hold it."),
        Step("restart_service", "Start it.", command="systemctl enable --now nvidia-fabricmanager"),
    ),
    references=("NVIDIA Fabric Manager User Guide, section Installing",),
    confirm=(
        "systemctl cat nvidia-fabricmanager.service",
        "lspci -d 10de:  # 'Bridge' is an NVSwitch",
    ),
)
def manager_installed(fabric: Fabric, services: Services, machine: Machine) -> Findings:
    switches = local_switches(fabric)
    if not need(services.unit(MANAGER_UNIT)).exists and not runs(machine, MANAGER_PROCESS):
        yield fail(f"{switches} and no fabric manager", code="missing", found="not installed", wanted="nvidia-fabricmanager")
