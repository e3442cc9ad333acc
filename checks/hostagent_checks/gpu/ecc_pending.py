"""Somebody changed the ECC mode, and the change waits for a reset: the next reboot changes the GPU's memory under its jobs."""

from hostagent.check import Findings, Step, check, need, warn
from hostagent.facts.gpu import Gpu


@check(
    title="No change of the ECC mode is pending",
    severity="warning",
    since="0.1",
    headline="{device} waits for a reset to change its ECC mode",
    remedy=(Step("reset_gpu", "Reset the GPU, or reboot the node; or take the change back with 'nvidia-smi --ecc-config'."),),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetEccMode",),
    confirm=("nvidia-smi -q -i <address> -d ECC  # 'Current' and 'Pending' differ",),
)
def ecc_pending(gpu: Gpu) -> Findings:
    ecc = need(gpu.ecc)
    now, then = need(ecc.enabled), need(ecc.pending)
    if now != then:
        words = {True: "enabled", False: "disabled"}
        yield warn(f"ECC is {words[now]}, {words[then]} after a reset", code="pending", found=words[now], wanted=words[then])
