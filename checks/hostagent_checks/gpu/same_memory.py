"""The GPU has less memory than its peers of the same product: a failed part of it was cut off at start."""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.gpu import Gpu

from ._peers import peer_values


@check(
    title="The GPU has as much memory as its peers",
    severity="warning",
    since="0.1",
    because=("gpu.same_model",),
    headline="{device} has less memory than its peers",
    remedy=(
        Step("power_cycle", "Compare the ECC mode of both GPUs; if it is equal, switch the chassis off and on."),
        Step("replace", "Have the GPU replaced.", if_back=True),
    ),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetMemoryInfo", "NVIDIA Xid Errors, Xid 168"),
    confirm=("nvidia-smi --query-gpu=pci.bus_id,name,memory.total --format=csv",),
)
def same_memory(gpu: Gpu, gpus: tuple[Gpu, ...]) -> Findings:
    own = need(gpu.memory_bytes)
    most = max(peer_values(gpu, gpus, lambda one: one.memory_bytes))
    if most > own:
        mib = 1024 * 1024
        yield fail(f"{own // mib} MiB, a peer has {most // mib}", code="less", found=f"{own // mib} MiB", wanted=f"{most // mib} MiB")
