"""nvidia_peermem is not loaded although the profile asks for it: network cards cannot reach GPU memory by the peer-memory path.

Or it is loaded and does nothing: built without the RDMA drivers of DOCA-OFED it registers with nobody. NCCL then copies through host
memory, at a fraction of the bandwidth, unless the DMA-BUF path works.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.driver.boot import load_at_boot
from hostagent.domains.network.tables.gpudirect import PEERMEM
from hostagent.facts.kernel import Kernel
from hostagent.facts.rdma import Rdma
from hostagent.profile import Profile

_USABLE = "usable"
_BUILD_AGAIN = (
    Step("install", "Build the NVIDIA module again, now that the RDMA drivers of DOCA-OFED are there."),
    Step("restart_service", "Load it again.", command="modprobe -r nvidia-peermem && modprobe nvidia-peermem"),
)


@check(
    title="The module nvidia_peermem is loaded where the profile asks for it",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-gpudirect", "memory-access"),
    because=("driver.loaded",),
    headline="The module nvidia_peermem is not loaded",
    remedy=(
        load_at_boot("nvidia-peermem"),
        Step("restart_service", "Load it now, after the RDMA drivers.", command="modprobe nvidia-peermem"),
    ),
    references=("NVIDIA GPUDirect RDMA, section Using nvidia-peermem",),
    confirm=("lsmod | grep nvidia_peermem",),
)
def peermem_loaded(kernel: Kernel, rdma: Rdma | Unread, profile: Profile) -> Findings:
    if not profile.rdma.peermem:
        skip("the profile does not ask for peer memory")
    if not set(PEERMEM) & set(need(kernel.loaded_modules)):
        yield fail("nvidia_peermem is not loaded", code="not-loaded", found="not loaded", wanted="loaded")
    elif need(need(rdma).peer_memory) != _USABLE:
        text = "nvidia_peermem is loaded without effect: no RDMA driver knows of it"
        headline = "The module nvidia_peermem is loaded, and does nothing"
        yield fail(text, code="without-effect", found="loaded", wanted="usable", headline=headline, remedy=_BUILD_AGAIN)
