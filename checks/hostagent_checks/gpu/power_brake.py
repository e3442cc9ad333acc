"""The host's hardware slows the GPU down: its power supply limits the load.

A lost power supply or a limit of the rack is the usual cause. A GPU at its own power limit is normal under load and does
not count.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform

from ._hardware import provider_s

_REASONS = ("hw-power-brake", "hw-slowdown")
#: Also sets hw-slowdown: `gpu.thermal_slowdown` judges it.
_HEAT = "hw-thermal-slowdown"


@check(
    title="The power supply does not slow the GPU down",
    severity="warning",
    since="0.1",
    headline="The power supply slows {device} down",
    remedy=(Step("drain_and_inspect", "Check the power supplies, and the power limit in the BMC."),),
    references=("NVIDIA NVML API Reference, clocks event reasons",),
    confirm=("nvidia-smi -q -i <address> -d PERFORMANCE  # 'HW Power Brake Slowdown'",),
)
def power_brake(gpu: Gpu, platform: Platform | Unread) -> Findings:
    reasons = need(gpu.clock_event_reasons)
    found = [reason for reason in reasons if reason in _REASONS]
    if found and not (found == ["hw-slowdown"] and _HEAT in reasons):
        yield fail(
            f"the power supply slows the GPU down ({', '.join(found)})",
            code="power-brake",
            found=found,
            wanted="none",
            remedy=provider_s(platform),
        )
