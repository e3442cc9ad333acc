"""The GPU has less memory than its peers of the same product: the driver left a failed part of it out."""

from hostagent.check import Findings, Step, check, fail, need, size
from hostagent.core.tables.recovery_actions import REPLACE_IF_BACK
from hostagent.facts.gpu import Gpu

from ._peers import peer_values


@check(
    title="The GPU has as much memory as its peers",
    severity="warning",
    since="0.1",
    because=("gpu.same_model",),
    headline="{device} has less memory than its peers",
    remedy=(
        Step(
            "drain_and_inspect",
            "Compare the ECC mode of the GPUs: on some, ECC takes memory.",
            command="nvidia-smi --query-gpu=index,memory.total,ecc.mode.current --format=csv",
        ),
        Step("power_cycle", "If the modes are equal, power the chassis off and on."),
        REPLACE_IF_BACK,
    ),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetMemoryInfo", "NVIDIA Xid Errors, Xid 168"),
    confirm=("nvidia-smi --query-gpu=pci.bus_id,name,memory.total --format=csv",),
)
def same_memory(gpu: Gpu, gpus: tuple[Gpu, ...]) -> Findings:
    own = need(gpu.memory_bytes)
    most = max(peer_values(gpu, gpus, lambda one: one.memory_bytes))
    if most > own:
        found, wanted = (size(own), size(most)) if size(own) != size(most) else (f"{own} bytes", f"{most} bytes")
        yield fail(f"the GPU has {found} of memory, a peer has {wanted}", code="less", found=found, wanted=wanted)
