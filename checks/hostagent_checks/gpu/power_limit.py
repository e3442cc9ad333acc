"""The GPU may use less power than its peers, or than the profile asks for: under load it is slower.

Somebody set a limit with nvidia-smi, or the rack's controller did. A limit that all GPUs of a kind share is intended, as on a fleet that
is short of power; `min_share` of the default limit, set in the profile, checks these too.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, need, warn
from hostagent.facts.gpu import Gpu

from ._peers import alike, need_all, told


class Params(NamedTuple):
    """min_share: share of the default limit, 0 to 1, below which this warns; 0 compares with the other GPUs only"""

    min_share: float = 0.0


@check(
    title="The GPU's power limit is that of its peers",
    severity="warning",
    since="0.1",
    headline="{device} has a lower power limit than it should",
    remedy=(Step("configure", "Set the default limit, or that of its peers.", command="nvidia-smi -i {subject} -pl <watts>"),),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetEnforcedPowerLimit",),
    confirm=("nvidia-smi --query-gpu=pci.bus_id,power.limit,power.default_limit --format=csv",),
)
def power_limit(gpu: Gpu, gpus: tuple[Gpu, ...], params: Params) -> Findings:
    enforced, default = need(gpu.power_limit_milliwatts), need(gpu.power_limit_default_milliwatts)
    wanted = int(default * params.min_share)
    if enforced < wanted:
        yield warn(
            f"limited to {enforced // 1000} W, the default is {default // 1000} W",
            code="limited",
            found=f"{enforced // 1000} W",
            wanted=f">= {wanted // 1000} W",
            remedy=_set(default),
        )
    elif enforced < default:
        limits = [peer.power_limit_milliwatts for peer in alike(gpu, gpus)]
        most = max(told(limits), default=enforced)
        if most <= enforced:
            need_all(limits)
            return
        text = f"limited to {enforced // 1000} W, a peer to {most // 1000} W"
        yield warn(text, code="less-than-peers", found=f"{enforced // 1000} W", wanted=f"{most // 1000} W", remedy=_set(most))


def _set(milliwatts: int) -> tuple[Step, ...]:
    watts = milliwatts // 1000
    return (Step("configure", f"Set the limit to {watts} W.", f"nvidia-smi -i {{subject}} -pl {watts}"),)
