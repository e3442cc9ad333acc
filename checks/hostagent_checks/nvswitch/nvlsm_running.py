"""The subnet manager of NVLink 5 (nvlsm) does not run: the fabric manager cannot set routes, and CUDA fails with error 802."""

from hostagent.check import Findings, Step, check, fail
from hostagent.facts.host import Machine
from hostagent.facts.nvswitch import Fabric
from hostagent.knowledge.fabric import NVLSM_PROCESS

from ._switches import nvlink5_bridges, runs


@check(
    title="The subnet manager of NVLink 5 runs",
    severity="critical",
    since="0.1",
    because=("nvswitch.nvlsm_modules",),
    headline="The subnet manager of NVLink 5 does not run",
    remedy=(
        Step("install", "Install nvlsm and infiniband-diags."),
        Step("restart_service", "Restart the fabric manager, which starts it.", command="systemctl restart nvidia-fabricmanager"),
    ),
    references=("NVIDIA Fabric Manager User Guide, section NVLink Subnet Manager",),
    confirm=(
        "pgrep -a nvlsm",
        "journalctl -b -u nvidia-fabricmanager.service",
    ),
)
def nvlsm_running(fabric: Fabric, machine: Machine) -> Findings:
    bridges = nvlink5_bridges(fabric)
    if not runs(machine, NVLSM_PROCESS):
        yield fail(
            f"NVLink 5 switches behind {', '.join(bridges)} and no nvlsm process", code="not-running", found="not running", wanted="running"
        )
