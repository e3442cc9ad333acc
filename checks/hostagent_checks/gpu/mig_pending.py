"""Somebody changed the MIG mode, and the change waits for a reset: the next one changes how many devices the host has."""

from hostagent.check import Findings, check, need, warn
from hostagent.core.tables.recovery_actions import RESET_LATER
from hostagent.domains.runtime.tables.cdi_versions import RENEW_AFTERWARDS as RENEW_CDI
from hostagent.facts.gpu import Gpu


@check(
    title="No change of the MIG mode waits for a reset",
    severity="warning",
    since="0.1",
    headline="The next reset of {device} changes its MIG mode",
    remedy=(
        RESET_LATER,
        RENEW_CDI,
    ),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetMigMode",),
    confirm=("nvidia-smi -q -i <address> | grep -A2 'MIG Mode'  # 'Current' and 'Pending' differ",),
)
def mig_pending(gpu: Gpu) -> Findings:
    mig = need(gpu.mig)
    if mig.current != mig.pending:
        words = {True: "enabled", False: "disabled"}
        yield warn(
            f"MIG is {words[mig.current]} now, and {words[mig.pending]} after the next reset",
            code="pending",
            found=words[mig.current],
            wanted=words[mig.pending],
        )
