"""The GPU's PCIe link is slower than that of its peers.

GPUs lower their link speed when they are idle, so a low speed alone says nothing, and an idle GPU is not judged. Judged
are the highest speed that the GPU offers, against its peers, and the speed of a busy GPU while a busy peer runs faster.
"""

import re

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.gpu import Gpu
from hostagent.facts.unread import Unread

from ._peers import alike

_IDLE = "gpu-idle"


@check(
    title="The GPU's PCIe link is as fast as that of its peers",
    severity="warning",
    since="0.1",
    remedy="Drain the node, power it off and reseat the GPU or its riser; set the slot's speed to automatic in the firmware setup.",
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci, current_link_speed",),
)
def pcie_speed(gpu: Gpu, gpus: tuple[Gpu, ...]) -> Findings:
    now, most = _gigatransfers(need(gpu.link_speed)), _gigatransfers(need(gpu.link_speed_max))
    if not now or not most:
        skip("the link reports no speed")
    peers = alike(gpu, gpus)
    best = max((_gigatransfers(one.link_speed_max) for one in peers), default=most)
    if best > most:
        yield fail(f"offers {most:g} GT/s at most, its peers {best:g}", code="offers-less", found=f"{most:g} GT/s", wanted=f"{best:g} GT/s")
    elif now < most:
        if _IDLE in need(gpu.clock_event_reasons):
            skip("the GPU is idle: its link speed is judged under load")
        busy = [_gigatransfers(one.link_speed) for one in peers if _busy(one)]
        if not busy:
            skip("no busy peer to compare the link speed with")
        if max(busy) > now:
            yield fail(f"{now:g} GT/s, a busy peer runs at {max(busy):g}", code="slow", found=f"{now:g} GT/s", wanted=f"{max(busy):g} GT/s")


def _busy(gpu: Gpu) -> bool:
    return not isinstance(gpu.clock_event_reasons, Unread) and _IDLE not in gpu.clock_event_reasons


def _gigatransfers(speed: "str | Unread") -> float:
    """The number in "32.0 GT/s PCIe"; 0 where there is none."""
    match = None if isinstance(speed, Unread) else re.match(r"(\d{1,4}(?:\.\d{1,3})?) GT/s", speed)
    return float(match[1]) if match else 0.0
