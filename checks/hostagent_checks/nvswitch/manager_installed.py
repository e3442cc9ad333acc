"""The host has NVSwitches but no fabric manager: CUDA fails with error 802, 'system not yet initialized'.

A driver without it installs and lists all GPUs. Hosts whose switches are elsewhere (GB200) need none.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.core.tables.nvlink_fabric import MANAGER_PROCESS, MANAGER_UNIT
from hostagent.domains.packages.commands import install
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Machine, Services
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform

from ._switches import local_switches, runs


@check(
    title="A fabric manager is installed for the NVSwitches",
    severity="critical",
    since="0.1",
    explains=("nvlink",),
    headline="This host has NVSwitches but no fabric manager",
    remedy=(
        Step("install", "Install nvidia-fabricmanager in the driver's version."),
        Step("restart_service", "Start it.", command="systemctl enable --now nvidia-fabricmanager"),
    ),
    references=("NVIDIA Fabric Manager User Guide, section Installing",),
    confirm=(
        "systemctl cat nvidia-fabricmanager.service",
        "lspci -d 10de:  # 'Bridge' is an NVSwitch",
    ),
)
def manager_installed(
    fabric: Fabric,
    services: Services,
    machine: Machine,
    driver: Driver | Unread,
    packages: Packages | Unread,
    os: Os | Unread,
    gpus: tuple[Gpu, ...] | Unread,
    platform: Platform | Unread,
) -> Findings:
    switches = local_switches(fabric, gpus, platform)
    if not need(services.unit(MANAGER_UNIT)).exists and not runs(machine, MANAGER_PROCESS):
        loaded = driver if isinstance(driver, Unread) else driver.loaded_version
        version = "" if isinstance(loaded, Unread) else loaded
        start = Step("restart_service", "Start it.", "systemctl enable --now nvidia-fabricmanager")
        steps = (
            Step("install", f"Install nvidia-fabricmanager {version}.", install(packages, os, ("nvidia-fabricmanager",), version)),
            start,
        )
        text = f"{switches}, but no fabric manager is installed"
        yield fail(text, code="missing", found="not installed", wanted="nvidia-fabricmanager", remedy=steps if version else ())
