"""The GPU slows itself down because it, or its memory, is too hot: every job that includes it runs at its speed."""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform

from ._hardware import provider_s

_REASONS = ("hw-thermal-slowdown", "sw-thermal-slowdown")


@check(
    title="Heat does not slow the GPU down",
    severity="warning",
    since="0.1",
    because=("gpu.temperature",),
    headline="Heat slows {device} down",
    remedy=(Step("drain_and_inspect", "Check the fans, the air flow or coolant, and the inlet temperature."),),
    references=("NVIDIA NVML API Reference, clocks event reasons",),
    confirm=(
        "nvidia-smi -q -i <address> -d PERFORMANCE  # 'HW Thermal Slowdown', 'SW Thermal Slowdown'",
        "nvidia-smi -q -i <address> -d TEMPERATURE",
    ),
)
def thermal_slowdown(gpu: Gpu, platform: Platform | Unread) -> Findings:
    found = [reason for reason in need(gpu.clock_event_reasons) if reason in _REASONS]
    if found:
        yield fail(f"heat slows the GPU down ({', '.join(found)})", code="heat", found=found, wanted="none", remedy=provider_s(platform))
