"""The GPU may use less power than its makers meant it to: it is slower than its peers under load.

Somebody set a limit with nvidia-smi, or the rack's controller did. A limit that is meant stands in the profile as
`min_share`.
"""

from typing import NamedTuple

from hostagent.check import Findings, check, need, warn
from hostagent.facts.gpu import Gpu


class Params(NamedTuple):
    min_share: float = 1.0  # of the default limit


@check(
    title="The GPU may use its default power",
    severity="warning",
    since="0.1",
    remedy="'nvidia-smi -i <PCI address> -pl <default>'; if the limit is meant, set params.min_share of this check in the profile.",
    references=("NVIDIA NVML API Reference, nvmlDeviceGetEnforcedPowerLimit",),
)
def power_limit(gpu: Gpu, params: Params) -> Findings:
    enforced, default = need(gpu.power_limit_milliwatts), need(gpu.power_limit_default_milliwatts)
    wanted = int(default * params.min_share)
    if enforced < wanted:
        yield warn(
            f"limited to {enforced // 1000} W, default {default // 1000} W",
            code="limited",
            found=f"{enforced // 1000} W",
            wanted=f">= {wanted // 1000} W",
        )
