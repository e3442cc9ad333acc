"""The GPU has fewer live NVLinks than its peers: traffic to it is slower, or goes over PCIe.

A link that is down is no fault by itself: some products use fewer links than the chip has, cards without a bridge use
none, and MIG turns them off. So a GPU is compared with those of its own kind, and only when more than half of the
host's have more links than it.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.gpu import Gpu, Mig
from hostagent.facts.unread import Unread

from ._peers import alike


@check(
    title="The GPU has as many live NVLinks as its peers",
    severity="warning",
    since="0.1",
    remedy="Reset all GPUs of the node together; if the link stays down, check the bridge or have the baseboard serviced.",
    references=("NVIDIA NVML API Reference, nvmlDeviceGetNvLinkState", "NVIDIA Fabric Manager User Guide"),
)
def nvlink_active(gpu: Gpu, gpus: tuple[Gpu, ...]) -> Findings:
    if isinstance(gpu.mig, Mig) and gpu.mig.current:
        skip("MIG is on, which turns NVLink off")
    own = sum(need(link.active) for link in need(gpu.nvlinks))
    peers = [
        sum(link.active is True for link in one.nvlinks)
        for one in alike(gpu, gpus)
        if not isinstance(one.nvlinks, Unread) and not (isinstance(one.mig, Mig) and one.mig.current)
    ]
    if not own and not any(peers):
        skip("no NVLink is in use on this host")
    better = sorted(count for count in peers if count > own)
    if len(better) * 2 > len(peers) + 1:
        usual = better[len(better) // 2]
        yield fail(f"{own} NVLinks active, {usual} on its peers", code="fewer-than-peers", found=own, wanted=usual)
