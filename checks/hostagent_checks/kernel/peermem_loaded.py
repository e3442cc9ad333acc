"""nvidia_peermem is not loaded although the profile asks for it: network cards cannot reach GPU memory by the peer-memory path.

NCCL then copies through host memory, at a fraction of the bandwidth, unless the DMA-BUF path works.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.derived.boot import load_at_boot
from hostagent.facts.kernel import Kernel
from hostagent.profile import Profile


@check(
    title="The module nvidia_peermem is loaded where the profile asks for it",
    severity="critical",
    scope="fabric",
    since="0.1",
    because=("driver.loaded",),
    headline="The module nvidia_peermem is not loaded",
    remedy=(
        load_at_boot("nvidia-peermem"),
        Step("restart_service", "Load it now, after the RDMA drivers.", command="modprobe nvidia-peermem"),
    ),
    references=("NVIDIA GPUDirect RDMA, section Using nvidia-peermem",),
    confirm=("lsmod | grep nvidia_peermem",),
)
def peermem_loaded(kernel: Kernel, profile: Profile) -> Findings:
    if not profile.rdma.peermem:
        skip("the profile does not ask for peer memory")
    if not {"nvidia_peermem", "nv_peer_mem"} & set(need(kernel.loaded_modules)):
        yield fail("nvidia_peermem is not loaded", code="not-loaded", found="not loaded", wanted="loaded")
