"""The IOMMU translates the addresses of GPUs or NICs: direct transfers between them break, or take the way through the CPU.

Passed through (type ``identity``) or switched off it leaves them alone. ``DMA`` and ``DMA-FQ`` translate each access. Many kernels do so
by default where the firmware has VT-d or AMD-Vi on.
"""

from hostagent.check import Findings, Step, check, counted, fail, need
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.network.gpu_path import GpuPaths, control
from hostagent.facts.platform import Platform
from hostagent.facts.topology import Topology

from ._ways import skip_in_a_machine, ways_of_jobs

_TRANSLATES = "DMA"


@check(
    title="The IOMMU passes the addresses of GPUs and NICs through",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("memory-access",),
    headline="The IOMMU translates the addresses of GPUs or NICs",
    remedy=(
        Step("configure", "Add iommu=pt to the kernel command line; on Arm iommu.passthrough=1."),
        REBOOT,
    ),
    references=(
        "Linux kernel, Documentation/ABI/testing/sysfs-kernel-iommu_groups, type",
        "NVIDIA GPUDirect RDMA, section Supported Systems",
    ),
    confirm=("cat /sys/kernel/iommu_groups/*/type", "cat /proc/cmdline"),
)
def iommu(paths: GpuPaths, topology: Topology, platform: Platform) -> Findings:
    skip_in_a_machine(platform)
    ways = ways_of_jobs(paths)
    devices = sorted({way.gpu for way in ways} | {card for way in ways for card in way.cards})
    types = {device: need(control(topology, device).iommu) for device in devices}
    found = tuple(f"{device} {word}" for device, word in types.items() if word.startswith(_TRANSLATES))
    if found:
        kinds = sorted({one.partition(" ")[2] for one in found})
        text = f"the IOMMU translates for {counted(len(found), 'device')} ({', '.join(kinds)})"
        yield fail(text, code="translates", found=kinds, wanted="identity", evidence=found)
