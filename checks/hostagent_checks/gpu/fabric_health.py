"""The fabric reports a defect of this GPU's NVLink path: less bandwidth, a bad route, or a wrong configuration.

A GPU can have joined the fabric (`gpu.fabric_state`) and have a defect all the same.
"""

from hostagent.check import Findings, Step, check, fail, need, skip, warn
from hostagent.core.tables.recovery_actions import RESET_ALL
from hostagent.facts.gpu import Gpu

#: What each field of the health mask says on a healthy GPU. Fields that are not here tell of no defect.
_SOUND = {
    "degraded-bandwidth": "false",
    "route-recovery": "false",
    "access-timeout-recovery": "false",
    "route-unhealthy": "false",
    "incorrect-configuration": "none",
    "manager": "connected",
}
#: NVLink works on, with less bandwidth or for a moment not at all.
_PASSING = ("degraded-bandwidth", "route-recovery", "access-timeout-recovery")


@check(
    title="The GPU's NVLink fabric reports no fault",
    severity="critical",
    since="0.1",
    explains=("nvlink",),
    because=("nvswitch.manager_version", "nvswitch.manager_running", "nvswitch.manager_errors", "nvswitch.board", "nvswitch.links"),
    headline="The NVLink fabric of {device} reports a fault",
    remedy=(
        RESET_ALL,
        Step("replace", "Read the fabric manager's log, and have the link that it names serviced.", if_back=True),
    ),
    references=("NVIDIA NVML API Reference, nvmlGpuFabricInfoV_t, health mask",),
    confirm=(
        "nvidia-smi -q -i <address> | grep -A12 Fabric",
        "journalctl -b -u nvidia-fabricmanager.service",
    ),
)
def fabric_health(gpu: Gpu) -> Findings:
    health = [(name, value) for name, value in need(gpu.fabric).health if name in _SOUND and value != "not-supported"]
    if not health:
        skip("the driver reports no fabric health")
    for name, value in health:
        if value != _SOUND[name]:
            report = warn if name in _PASSING else fail
            yield report(f"the fabric reports {name}: {value}", code=name, found=value, wanted=_SOUND[name])
