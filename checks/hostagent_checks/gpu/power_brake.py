"""The host's hardware slows the GPU down: its power supply asks for less load.

A lost power supply or a limit of the rack is the usual cause. A GPU at its own power limit is normal under load and does
not count.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.gpu import Gpu

_REASONS = ("hw-power-brake", "hw-slowdown")
#: Also sets hw-slowdown: `gpu.thermal_slowdown` judges it.
_HEAT = "hw-thermal-slowdown"


@check(
    title="The GPU is not slowed down by the power supply",
    severity="warning",
    since="0.1",
    headline="{device} is slowed down by the power supply",
    remedy=(Step("drain_and_inspect", "Check the power supplies and the power limit in the baseboard controller (BMC)."),),
    references=("NVIDIA NVML API Reference, clocks event reasons",),
    confirm=("nvidia-smi -q -i <address> -d PERFORMANCE  # 'HW Power Brake Slowdown'",),
)
def power_brake(gpu: Gpu) -> Findings:
    reasons = need(gpu.clock_event_reasons)
    found = [reason for reason in reasons if reason in _REASONS]
    if found and not (found == ["hw-slowdown"] and _HEAT in reasons):
        yield fail("slowed down by the power supply", code="power-brake", found=found, wanted="none")
