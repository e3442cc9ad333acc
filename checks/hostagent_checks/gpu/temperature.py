"""The GPU is close to the temperature at which it slows itself down."""

from typing import NamedTuple

from hostagent.check import Findings, Step, Unread, check, fail, need, warn
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform

from ._hardware import provider_s


class Params(NamedTuple):
    """min_margin_celsius: °C that the GPU must stay below its slow-down temperature"""

    min_margin_celsius: int = 5


@check(
    title="The GPU is cooler than its slow-down temperature",
    severity="warning",
    since="0.1",
    headline="{device} is close to its slow-down temperature",
    remedy=(Step("drain_and_inspect", "Check the fans, the air flow or coolant, and the inlet temperature."),),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetTemperatureThreshold",),
    confirm=("nvidia-smi -q -i <address> -d TEMPERATURE",),
)
def temperature(gpu: Gpu, platform: Platform | Unread, params: Params) -> Findings:
    now, limit = need(gpu.temperature_celsius), need(gpu.temperature_slowdown_celsius)
    if now >= limit:
        text = f"{now} °C, at or above the slow-down temperature of {limit} °C"
        yield fail(text, code="hot", found=f"{now} °C", wanted=f"< {limit} °C", remedy=provider_s(platform))
    elif now > limit - params.min_margin_celsius:
        wanted = f"<= {limit - params.min_margin_celsius} °C"
        text = f"{now} °C, close to the slow-down temperature of {limit} °C"
        yield warn(text, code="close", found=f"{now} °C", wanted=wanted, remedy=provider_s(platform))
