"""GPU memory is a NUMA node of this Kubernetes host: the kernel and pods without a GPU can take it.

On Grace Hopper and Grace Blackwell the driver offers GPU memory to the kernel as NUMA nodes unless it is told to keep it. The
kubelet then counts it as host memory, and CUDA programs find less than the card has.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.core.tables.pci import is_coherent
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.driver.boot import rebuild_initramfs, write_line
from hostagent.domains.driver.tables.releases import has_coherent_mode
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Machine
from hostagent.facts.packages import Packages
from hostagent.facts.version import branch

_KEEP = Step(
    "configure",
    "Tell the driver to keep the memory.",
    write_line("/etc/modprobe.d/nvidia-coherent.conf", "options nvidia NVreg_CoherentGPUMemoryMode=driver"),
)


@check(
    title="On Kubernetes, the driver keeps coherent GPU memory to itself",
    severity="warning",
    since="0.1",
    headline="The driver gives coherent GPU memory to the kernel, so Kubernetes uses it",
    remedy=(
        _KEEP,
        Step("configure", "Rebuild the initramfs."),
        REBOOT,
    ),
    references=("NVIDIA GPU Operator, section on coherent driver-based memory management (CDMM)",),
    confirm=(
        "grep CoherentGPUMemoryMode /proc/driver/nvidia/params",
        "grep MemTotal /sys/devices/system/node/node*/meminfo  # a NUMA node as large as a GPU's memory",
    ),
)
def coherent_memory(driver: Driver, machine: Machine, gpus: tuple[Gpu, ...], packages: Packages | Unread) -> Findings:
    if not any(is_coherent(need(gpu.device_id)) for gpu in gpus):
        skip("no GPU shares its memory with the CPU")
    if not need(machine.daemons("kubelet")):
        skip("no kubelet runs here")
    major = branch(need(driver.loaded_version))
    if not has_coherent_mode(major):
        skip(f"driver branch {major} has no such mode")
    found = dict(need(driver.parameters)).get("CoherentGPUMemoryMode", "")
    if found != "driver":
        steps = (_KEEP, rebuild_initramfs(packages), REBOOT)
        text = "the driver gives GPU memory to the kernel as NUMA nodes"
        yield fail(text, code="numa", found=found or "not set", wanted="driver", remedy=steps)
