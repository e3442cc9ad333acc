"""Somebody changed the ECC mode, and the change waits for a reset: the next reboot changes the GPU's memory under its jobs."""

from hostagent.check import Findings, check, need, warn
from hostagent.core.tables.recovery_actions import RESET_LATER
from hostagent.facts.gpu import Gpu


@check(
    title="No change of the ECC mode waits for a reset",
    severity="warning",
    since="0.1",
    headline="The next reset of {device} changes its ECC mode",
    remedy=(RESET_LATER,),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetEccMode",),
    confirm=("nvidia-smi -q -i <address> -d ECC  # 'Current' and 'Pending' differ",),
)
def ecc_pending(gpu: Gpu) -> Findings:
    ecc = need(gpu.ecc)
    now, then = need(ecc.enabled), need(ecc.pending)
    if now != then:
        words = {True: "enabled", False: "disabled"}
        yield warn(f"ECC is {words[now]} now, and {words[then]} after the next reset", code="pending", found=words[now], wanted=words[then])
