"""The driver itself says what the GPU needs to recover from a fault: a reset, a reboot of the node, or a drain."""

from hostagent.check import Findings, Step, check, fail, need, warn
from hostagent.facts.gpu import Gpu

_REMEDIES = {
    "gpu-reset": Step("reset_gpu", "Reset the GPU.", command="nvidia-smi --gpu-reset -i {subject}"),
    "node-reboot": Step("reboot", "Reboot the node: the driver asks for it."),
    "bus-reset": Step("reboot", "Reset the GPU's PCI slot, or reboot the node."),
    "system-reboot": Step("power_cycle", "Switch the chassis off and on: the driver asks for it."),
    "recover-imex-domain": Step("restart_service", "Restart nvidia-imex on the nodes of the NVLink domain."),
    "drain-p2p": Step("drain_and_inspect", "End all jobs that use this GPU from others, then run hostagent again."),
    "drain-and-reset": Step("reset_gpu", "Start no new work on the GPU, and reset it when it is idle."),
}
#: The GPU goes on: until it is idle, or alone, while the NVLink domain of its rack is recovered.
_GOES_ON = ("drain-and-reset", "recover-imex-domain")


@check(
    title="The driver asks for no recovery of the GPU",
    severity="critical",
    since="0.1",
    because=("gpu.on_bus", "gpu.lost", "gpu.xid"),
    headline="The driver asks for a recovery of {device}: {found}",
    remedy=(Step("reset_gpu", "Reset the GPU, or reboot the node."),),
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
        report = warn if action in _GOES_ON else fail
        steps = (_REMEDIES[action],) if action in _REMEDIES else ()
        yield report(f"the driver asks for {action}", code=action, found=action, wanted="none", remedy=steps)
