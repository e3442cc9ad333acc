"""An administrator drains the GPU: the driver takes no new client for it, and NVML no longer lists it.

``nvidia-smi drain -m 1`` does so before a GPU is removed or reset; it stays until the state is set back, the driver is loaded again, or
the node reboots. Every tool then counts one GPU less, as if it were lost. A GPU that NVML lists counts as not drained where the
state cannot be read.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.facts.gpu import Gpu


@check(
    title="No administrator drains the GPU",
    severity="critical",
    since="0.1",
    headline="An administrator drains {device}: the driver takes no new client for it",
    remedy=(Step("configure", "If its maintenance has ended, set it back.", command="nvidia-smi drain -p {subject} -m 0"),),
    references=("NVIDIA NVML API Reference, nvmlDeviceQueryDrainState", "nvidia-smi(1)"),
    confirm=("nvidia-smi drain -p <address> -q",),
)
def drained(gpu: Gpu) -> Findings:
    if isinstance(gpu.drained, Unread) and need(gpu.in_nvml):
        return
    if need(gpu.drained):
        yield fail("its drain state is draining", code="draining", found="draining", wanted="not draining")
