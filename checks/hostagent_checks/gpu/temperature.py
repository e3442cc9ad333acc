"""The GPU is close to the temperature at which it slows itself down."""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, fail, need, warn
from hostagent.facts.gpu import Gpu


class Params(NamedTuple):
    """min_margin_celsius: °C that the GPU must stay below its slow-down temperature"""

    min_margin_celsius: int = 5


@check(
    title="The GPU is cooler than its slow-down temperature",
    severity="warning",
    since="0.1",
    headline="{device} is close to its slow-down temperature",
    remedy=(Step("drain_and_inspect", "Check fans, air flow or coolant and the inlet temperature; compare the GPU with its neighbours."),),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetTemperatureThreshold",),
    confirm=("nvidia-smi -q -i <address> -d TEMPERATURE",),
)
def temperature(gpu: Gpu, params: Params) -> Findings:
    now, limit = need(gpu.temperature_celsius), need(gpu.temperature_slowdown_celsius)
    if now >= limit:
        yield fail(f"at its slow-down temperature of {limit} °C", code="hot", found=f"{now} °C", wanted=f"< {limit} °C")
    elif now > limit - params.min_margin_celsius:
        wanted = f"<= {limit - params.min_margin_celsius} °C"
        yield warn(f"close to its slow-down temperature of {limit} °C", code="close", found=f"{now} °C", wanted=wanted)
