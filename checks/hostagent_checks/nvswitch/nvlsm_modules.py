"""A kernel module is missing through which nvlsm reaches the switches of NVLink 5: it cannot start, or finds no port."""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.kernel import Kernel
from hostagent.facts.nvswitch import Fabric
from hostagent.knowledge.fabric import NVLSM_MODULES

from ._switches import nvlink5_bridges


@check(
    title="The modules that NVLink 5 needs are loaded",
    severity="critical",
    since="0.1",
    headline="Kernel modules that NVLink 5 needs are not loaded",
    remedy=(
        Step("configure", "Name mlx5_core and ib_umad in a file of /etc/modules-load.d."),
        Step(
            "restart_service",
            "Load them and restart the fabric manager.",
            command="modprobe mlx5_core && modprobe ib_umad && systemctl restart nvidia-fabricmanager",
        ),
    ),
    references=("NVIDIA Fabric Manager User Guide, section NVLink Subnet Manager", "gpu-driver-container, nvidia-driver script"),
    confirm=("lsmod | grep -E 'ib_umad|mlx5_ib'",),
)
def nvlsm_modules(fabric: Fabric, kernel: Kernel) -> Findings:
    nvlink5_bridges(fabric)
    loaded = need(kernel.loaded_modules)
    missing = [name for name in NVLSM_MODULES if name not in loaded]
    if missing:
        yield fail(f"{', '.join(missing)} not loaded", code="missing", found=f"no {', '.join(missing)}", wanted=NVLSM_MODULES)
