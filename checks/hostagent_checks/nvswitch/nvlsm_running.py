"""The subnet manager of NVLink 5 (nvlsm) does not run: the fabric manager cannot set routes, and CUDA fails with error 802."""

from hostagent.check import Findings, Step, Unread, check, fail
from hostagent.core.tables.nvlink_fabric import NVLSM_PROCESS
from hostagent.domains.packages.commands import install
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Machine
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform

from ._switches import nvlink5_switches, runs


@check(
    title="The subnet manager of NVLink 5 runs",
    severity="critical",
    since="0.1",
    because=("nvswitch.nvlsm_modules",),
    headline="The subnet manager of NVLink 5 is not running",
    remedy=(
        Step("install", "Install nvlsm and infiniband-diags, if they are missing."),
        Step("restart_service", "Restart the fabric manager, which starts it.", command="systemctl restart nvidia-fabricmanager"),
    ),
    references=("NVIDIA Fabric Manager User Guide, section NVLink Subnet Manager",),
    confirm=(
        "pgrep -a nvlsm",
        "journalctl -b -u nvidia-fabricmanager.service",
    ),
)
def nvlsm_running(
    fabric: Fabric,
    machine: Machine,
    packages: Packages | Unread,
    os: Os | Unread,
    gpus: tuple[Gpu, ...] | Unread,
    platform: Platform | Unread,
) -> Findings:
    switches = nvlink5_switches(fabric, gpus, platform)
    if not runs(machine, NVLSM_PROCESS):
        installed = () if isinstance(packages, Unread) or isinstance(packages.installed, Unread) else packages.installed
        is_there = any(one.name == "nvlsm" for one in installed)
        get = Step("install", "Install nvlsm and infiniband-diags.", install(packages, os, ("nvlsm", "infiniband-diags")))
        restart = Step("restart_service", "Restart the fabric manager, which starts it.", "systemctl restart nvidia-fabricmanager")
        steps = (restart,) if is_there else (get, restart)
        text = f"there are {switches}, but no nvlsm process"
        yield fail(text, code="not-running", found="not running", wanted="running", remedy=steps)
