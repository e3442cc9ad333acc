"""The driver itself asks for what the GPU needs to recover from a fault: a reset, a reboot of the node, or a drain."""

from hostagent.check import Findings, Step, check, fail, need, warn
from hostagent.core.tables.recovery_actions import DRIVER_STEPS, GOES_ON, RESET
from hostagent.facts.gpu import Gpu


@check(
    title="The driver asks for no recovery of the GPU",
    severity="critical",
    since="0.1",
    explains=("gpu",),
    because=("gpu.on_bus", "gpu.lost", "gpu.xid"),
    headline="The driver asks for a recovery of {device}: {found}",
    remedy=(RESET, Step("reboot", "Reboot the node.", if_back=True)),
    references=(
        "NVIDIA NVML API Reference, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION",
        "NVIDIA Xid Errors, Xid 154",
        "kubernetes-sigs/dra-driver-nvidia-gpu pull request 1441",
    ),
    confirm=(
        "nvidia-smi -q -i <address> | grep -i 'recovery action'",
        "journalctl -k -g 'Xid.*154'",
    ),
)
def recovery_action(gpu: Gpu) -> Findings:
    action = need(gpu.recovery_action)
    if action != "none":
        report = warn if action in GOES_ON else fail
        steps = (DRIVER_STEPS[action],) if action in DRIVER_STEPS else ()
        yield report(f"the driver asks for {action}", code=action, found=action, wanted="none", remedy=steps)
