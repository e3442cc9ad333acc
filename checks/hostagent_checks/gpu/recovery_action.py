"""The driver itself says what the GPU needs to recover from a fault: a reset, a reboot of the node, or a drain."""

from hostagent.check import Findings, Step, check, fail, need, warn
from hostagent.facts.gpu import Gpu

_REMEDIES = {
    "gpu-reset": "Drain the node, then 'nvidia-smi --gpu-reset -i <PCI address>'.",
    "node-reboot": "Drain the node and reboot it.",
    "bus-reset": "Drain the node and reset the GPU's PCI slot, or reboot the node.",
    "system-reboot": "Drain the node and power-cycle it.",
    "recover-imex-domain": "Restart nvidia-imex on the nodes of the NVLink domain.",
    "drain-p2p": "End all jobs that use this GPU from others, then look again.",
    "drain-and-reset": "Start no new work on the GPU, and reset it when it is idle.",
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
)
def recovery_action(gpu: Gpu) -> Findings:
    action = need(gpu.recovery_action)
    if action != "none":
        report = warn if action in _GOES_ON else fail
        yield report(f"the driver asks for {action}", code=action, found=action, wanted="none", remedy=_REMEDIES.get(action, ""))
