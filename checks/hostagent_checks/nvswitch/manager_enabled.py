"""The fabric manager does not start at boot: after the next reboot CUDA fails with error 802."""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.core.tables.nvlink_fabric import MANAGER_UNIT
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Services
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.platform import Platform

from ._switches import local_switches


@check(
    title="The fabric manager starts at boot",
    severity="warning",
    since="0.1",
    because=("nvswitch.manager_running",),
    headline="The fabric manager does not start at boot",
    remedy=(
        Step(
            "restart_service",
            "Enable the fabric manager.",
            command="systemctl unmask nvidia-fabricmanager && systemctl enable --now nvidia-fabricmanager",
        ),
    ),
    references=("NVIDIA Fabric Manager User Guide, section Fabric Manager Service",),
    confirm=("systemctl is-enabled nvidia-fabricmanager.service",),
)
def manager_enabled(fabric: Fabric, services: Services, gpus: tuple[Gpu, ...] | Unread, platform: Platform | Unread) -> Findings:
    local_switches(fabric, gpus, platform)
    unit = need(services.unit(MANAGER_UNIT))
    if not unit.exists:
        skip(f"there is no unit {MANAGER_UNIT}: a container may run the fabric manager")
    if need(unit.masked):
        yield fail("the fabric manager's unit is masked", code="masked", found="masked", wanted="enabled")
    elif not need(unit.enabled):
        yield fail("the fabric manager's unit is not enabled", code="disabled", found="disabled", wanted="enabled")
