"""The GPU has fewer active NVLinks than its peers: traffic to it is slower, or goes over PCIe.

A link that is down is no fault by itself: some products use fewer links than the chip has, cards without a bridge use
none, and MIG turns them off. So a GPU is compared with those of its own kind, and only when more than half of the
host's have more links than it.
"""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, counted, fail, need, skip
from hostagent.core.tables.recovery_actions import RESET_ALL
from hostagent.facts.gpu import Gpu, Mig

from ._judged import VFIO


@check(
    title="The GPU has as many active NVLinks as its peers",
    severity="warning",
    since="0.1",
    because=("gpu.on_bus", "gpu.lost", "nvswitch.links", "nvswitch.board"),
    headline="{device} has fewer active NVLinks than its peers",
    remedy=(
        RESET_ALL,
        Step("replace", "Check the NVLink bridge, or have the baseboard serviced.", if_back=True),
    ),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetNvLinkState", "NVIDIA Fabric Manager User Guide"),
    confirm=(
        "nvidia-smi nvlink -s -i <address>",
        "nvidia-smi topo -m",
    ),
)
def nvlink_active(gpu: Gpu, gpus: tuple[Gpu, ...]) -> Findings:
    if isinstance(gpu.mig, Mig) and gpu.mig.current:
        skip("MIG is on, which turns NVLink off")
    links, device = need(gpu.nvlinks), need(gpu.device_id)
    own = sum(need(link.active) for link in links)
    peers = [one for one in gpus if one.pci != gpu.pci and _may_be_alike(one, device)]
    told = [one.nvlinks for one in peers if not isinstance(one.nvlinks, Unread) and not isinstance(one.device_id, Unread)]
    unread = [what for one in peers for what in (one.device_id, one.nvlinks) if isinstance(what, Unread) and what.why not in NOT_APPLICABLE]
    counts = [sum(link.active is True for link in one) for one in told]
    unclear = [link.active for one in told for link in one if isinstance(link.active, Unread)]
    better = sorted(count for count in counts if count > own)
    if len(better) * 2 > len(told) + 1:
        usual = better[len(better) // 2]
        yield fail(f"{counted(own, 'NVLink')} active, {usual} on its peers", code="fewer-than-peers", found=own, wanted=usual)
        return
    most = [sum(link.active is not False for link in one) for one in told]
    if (sum(count > own for count in most) + len(unread)) * 2 > len(told) + len(unread) + 1:
        need((*unread, *unclear)[0])  # what was lost may decide
    if not own and not any(counts):
        skip("no NVLink is in use on this host")


def _may_be_alike(one: Gpu, device: str) -> bool:
    """Of the same product, by what is known, with NVLinks of its own."""
    is_other = not isinstance(one.device_id, Unread) and one.device_id != device
    in_machine = not isinstance(one.bound_to, Unread) and one.bound_to == VFIO
    return not (is_other or in_machine or (isinstance(one.mig, Mig) and one.mig.current))
