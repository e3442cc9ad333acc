"""Somebody changed the MIG mode, and the change waits for a reset: the next one changes how many devices the host has."""

from hostagent.check import Findings, Step, check, need, warn
from hostagent.facts.gpu import Gpu


@check(
    title="No change of the MIG mode is pending",
    severity="warning",
    since="0.1",
    headline="{device} waits for a reset to change its MIG mode",
    remedy=(
        Step("reset_gpu", "Reset the GPU; or take the change back with 'nvidia-smi -mig'."),
        Step("restart_service", "Renew the CDI specification.", command="systemctl restart nvidia-cdi-refresh.service"),
    ),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetMigMode",),
    confirm=("nvidia-smi -q -i <address> | grep -A2 'MIG Mode'  # 'Current' and 'Pending' differ",),
)
def mig_pending(gpu: Gpu) -> Findings:
    mig = need(gpu.mig)
    if mig.current != mig.pending:
        words = {True: "enabled", False: "disabled"}
        yield warn(
            f"MIG is {words[mig.current]}, {words[mig.pending]} after a reset",
            code="pending",
            found=words[mig.current],
            wanted=words[mig.pending],
        )
