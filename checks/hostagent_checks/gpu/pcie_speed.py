"""The GPU's PCIe link is slower than that of its peers.

GPUs lower their link speed when they are idle, so a low speed alone says nothing, and an idle GPU passes. The check
compares the highest speed that the GPU offers with that of its peers, and the speed of a busy GPU with that of a busy peer.
A GPU whose link is as fast as its slot can be passes, whatever the slots of its peers can do.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.core.tables.pci import gigatransfers
from hostagent.facts.gpu import Gpu

from ._judged import skip_of_virtual_machine
from ._peers import alike, need_all, told

_IDLE = "gpu-idle"


@check(
    title="The GPU's PCIe link is as fast as that of its peers",
    severity="warning",
    since="0.1",
    because=("gpu.on_bus",),
    headline="The PCIe link of {device} is slower than its peers' links",
    remedy=(
        Step("replace", "Power the node off, and reseat the GPU or its riser."),
        Step("replace", "Set the slot's link speed to automatic in the firmware setup.", if_back=True),
    ),
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci, current_link_speed",),
    confirm=(
        "lspci -vv -s <address> | grep -E 'LnkCap|LnkSta'",
        "nvidia-smi --query-gpu=pci.bus_id,pcie.link.gen.current,pcie.link.gen.max --format=csv",
    ),
)
def pcie_speed(gpu: Gpu, gpus: tuple[Gpu, ...]) -> Findings:
    now, own, most = (gigatransfers(need(speed)) for speed in (gpu.link_speed, gpu.link_speed_card, gpu.link_speed_max))
    if not now or not own or not most:
        skip("the link reports no speed")
    peers = alike(gpu, gpus)
    offered = [one.link_speed_card for one in peers]
    best = max(map(gigatransfers, told(offered)), default=own)
    if best > own:
        skip_of_virtual_machine(gpu)
        yield fail(
            f"the link offers at most {own:g} GT/s, its peers' links {best:g} GT/s",
            code="offers-less",
            found=f"{own:g} GT/s",
            wanted=f"{best:g} GT/s",
        )
    elif now < most:
        if _IDLE in need(gpu.clock_event_reasons):
            skip("the GPU is idle, and its link speed counts under load only")
        at_work = [one for one in peers if isinstance(one.clock_event_reasons, Unread) or _IDLE not in one.clock_event_reasons]
        speeds = [one.clock_event_reasons if isinstance(one.clock_event_reasons, Unread) else one.link_speed for one in at_work]
        busy = [gigatransfers(speed) for speed in told(speeds) if isinstance(speed, str)]
        if max(busy, default=0.0) > now:
            yield fail(
                f"the link runs at {now:g} GT/s, a busy peer's at {max(busy):g} GT/s",
                code="slow",
                found=f"{now:g} GT/s",
                wanted=f"{min(max(busy), most):g} GT/s",
            )
            return
        need_all(speeds)
        if not busy:
            skip("no busy peer to compare the link speed with")
    need_all(offered)
