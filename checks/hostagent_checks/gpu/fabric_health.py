"""The fabric reports a defect of this GPU's NVLink path: less bandwidth, a bad route, or a wrong configuration.

A GPU can have joined the fabric (`gpu.fabric_state`) and have a defect all the same.
"""

from hostagent.check import Findings, check, fail, need, warn
from hostagent.facts.gpu import Gpu
from hostagent.facts.unread import Unread

_HEALTHY = ("false", "none", "not-supported")


@check(
    title="The GPU's NVLink fabric reports no defect",
    severity="critical",
    since="0.1",
    remedy="Drain the node, reset its GPUs together and look at the fabric manager's log; have the link serviced if it comes back.",
    references=("NVIDIA NVML API Reference, nvmlGpuFabricInfoV_t, health mask",),
)
def fabric_health(gpu: Gpu) -> Findings:
    health = [(name, value) for name, value in need(gpu.fabric).health if value != "not-supported"]
    if not health:
        need(Unread("not-supported", "the driver reports no fabric health"))
    for name, value in health:
        if value in _HEALTHY:
            continue
        if "unhealthy" in name or "incorrect" in name:
            text = name if value == "true" else f"{name}: {value}"
            yield fail(f"the fabric says {text}", code=name, found=value, wanted="none" if "incorrect" in name else "false")
        else:
            yield warn(f"the fabric says {name}", code=name, found=value, wanted="false")
