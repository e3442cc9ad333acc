"""Network cards have no way into GPU memory: all that GPUs send to other nodes is copied through the memory of the CPU.

There are two ways, and one is enough. DMA-BUF wants a kernel from 5.12 on, NVIDIA's open kernel module, and where jobs use the host's
libibverbs one from rdma-core 34 on. Peer memory is the module nvidia_peermem, which works with the RDMA drivers of DOCA-OFED: built
without them it loads, and does nothing. NCCL says nothing louder than "GPU Direct RDMA Disabled" where both are missing.
"""

from collections.abc import Mapping

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.network.gpu_path import GpuPaths
from hostagent.domains.network.gpudirect import gdr
from hostagent.domains.network.rails import Rails
from hostagent.domains.network.tables.gpudirect import EFA_PEERMEM
from hostagent.domains.network.tables.rdma_devices import EFA
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.rdma import Rdma

from ._ways import ports_of

_USABLE, _LOADED = "usable", "loaded"
_LACKS: Mapping[str, str] = {
    "kernel": "the kernel is older than 5.12",
    "module": "NVIDIA's module is the proprietary one",
    "library": "libibverbs is older than rdma-core 34",
}
_INSTEAD: Mapping[str, Step] = {
    "kernel": Step("install", "Install a kernel from 5.12 on: its RDMA drivers take GPU memory as DMA-BUF."),
    "module": Step("install", "Install NVIDIA's open kernel module: it offers GPU memory as DMA-BUF."),
    "library": Step("install", "Update libibverbs (rdma-core) to 34 or later: it registers memory as DMA-BUF."),
}
_WITH_OFED = Step("install", "Or install DOCA-OFED, build the NVIDIA module again, and load nvidia-peermem.")
_BUILD_AGAIN = (
    Step("install", "Build the NVIDIA module again, now that the RDMA drivers are there."),
    Step("restart_service", "Load nvidia-peermem again.", command="modprobe -r nvidia-peermem && modprobe nvidia-peermem"),
)


@check(
    title="Network cards can reach GPU memory",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("no-gpudirect", "memory-access"),
    part="driver",
    because=("driver.loaded",),
    headline="Network cards cannot reach GPU memory",
    remedy=(_WITH_OFED,),
    references=("NVIDIA GPU Operator, GPUDirect RDMA and GPUDirect Storage", "NVIDIA GPUDirect RDMA, section Using nvidia-peermem"),
    confirm=(
        "cat /proc/driver/nvidia/version  # 'Open Kernel Module'",
        "cat /sys/kernel/mm/memory_peers/nv_mem/version /sys/module/nvidia_peermem/version",
        "uname -r",
    ),
)
def gpudirect(rails: Rails, paths: GpuPaths, kernel: Kernel, driver: Driver, rdma: Rdma) -> Findings:
    ports = ports_of(rails)
    if not paths.gpus_of_jobs:
        skip("no GPU of this host lets network cards reach its memory")
    found = gdr(kernel, driver, rdma)
    if (not isinstance(found.peermem, Unread) and found.peermem == _USABLE) or found.dmabuf is True:
        return
    if any(need(port.driver) == EFA for port in ports):
        if EFA_PEERMEM in need(kernel.loaded_modules):
            return
        need(found.dmabuf)
        skip("Amazon's EFA driver may have a way of its own, which it does not show")
    need(found.dmabuf)
    lacks = ", ".join(_LACKS[part] for part in found.lacks)
    instead = tuple(_INSTEAD[part] for part in found.lacks)
    if need(found.peermem) == _LOADED:
        text = f"nvidia_peermem is loaded without effect, and DMA-BUF does not work: {lacks}"
        yield fail(text, code="peermem-without-effect", found="loaded", wanted="usable", remedy=(*instead, *_BUILD_AGAIN))
    else:
        text = f"nvidia_peermem is not loaded, and DMA-BUF does not work: {lacks}"
        yield fail(text, code="no-way", found="none", wanted="DMA-BUF or peermem", remedy=(*instead, _WITH_OFED))
