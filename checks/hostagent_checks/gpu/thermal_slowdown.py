"""The GPU slows itself down because it, or its memory, is too hot: every job that includes it runs at its speed."""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.gpu import Gpu

_REASONS = ("hw-thermal-slowdown", "sw-thermal-slowdown")


@check(
    title="The GPU is not slowed down by heat",
    severity="warning",
    since="0.1",
    because=("gpu.temperature",),
    headline="{device} is slowed down by heat",
    remedy=(Step("drain_and_inspect", "Check fans, air flow or coolant and the inlet temperature; compare the GPU with its neighbours."),),
    references=("NVIDIA NVML API Reference, clocks event reasons",),
    confirm=(
        "nvidia-smi -q -i <address> -d PERFORMANCE  # 'HW Thermal Slowdown', 'SW Thermal Slowdown'",
        "nvidia-smi -q -i <address> -d TEMPERATURE",
    ),
)
def thermal_slowdown(gpu: Gpu) -> Findings:
    found = [reason for reason in need(gpu.clock_event_reasons) if reason in _REASONS]
    if found:
        yield fail("slowed down by heat", code="heat", found=found, wanted="none")
