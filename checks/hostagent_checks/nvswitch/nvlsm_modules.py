"""A kernel module through which nvlsm reaches the NVLink 5 switches is not loaded: nvlsm cannot start, or finds no port."""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.core.tables.nvlink_fabric import NVLSM_MODULES
from hostagent.domains.driver.boot import load_at_boot
from hostagent.facts.gpu import Gpu
from hostagent.facts.kernel import Kernel
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.platform import Platform

from ._switches import nvlink5_switches


@check(
    title="The kernel modules that NVLink 5 needs are loaded",
    severity="critical",
    since="0.1",
    headline="Kernel modules that NVLink 5 needs are not loaded",
    remedy=(
        *(load_at_boot(name) for name in NVLSM_MODULES),
        Step("restart_service", "Load the modules now.", command="modprobe -a mlx5_core ib_umad"),
        Step("restart_service", "Restart the fabric manager.", command="systemctl restart nvidia-fabricmanager"),
    ),
    references=("NVIDIA Fabric Manager User Guide, section NVLink Subnet Manager", "gpu-driver-container, nvidia-driver script"),
    confirm=("lsmod | grep -E 'ib_umad|mlx5_ib'",),
)
def nvlsm_modules(fabric: Fabric, kernel: Kernel, gpus: tuple[Gpu, ...] | Unread, platform: Platform | Unread) -> Findings:
    nvlink5_switches(fabric, gpus, platform)
    loaded = need(kernel.loaded_modules)
    missing = [name for name in NVLSM_MODULES if name not in loaded]
    if missing:
        yield fail(
            f"no {', '.join(missing)} among the loaded kernel modules",
            code="missing",
            found=f"no {', '.join(missing)}",
            wanted=NVLSM_MODULES,
        )
