"""The host has GPUs of different products: a job on all of them runs at the pace, and with the memory, of the least."""

from hostagent.check import Findings, check, need, skip, warn
from hostagent.facts.gpu import Gpu


@check(
    title="All GPUs of the host are one product",
    severity="warning",
    since="0.1",
    remedy="Where the mix is meant, turn this check off in the profile and hand out GPUs by product.",
    references=("NVIDIA NVML API Reference, nvmlDeviceGetName",),
)
def same_model(gpus: tuple[Gpu, ...]) -> Findings:
    if len(gpus) < 2:
        skip("the host has fewer than two GPUs")
    names = sorted({need(gpu.name) for gpu in gpus})
    if len(names) > 1:
        yield warn(f"{len(names)} products: {', '.join(names)}", code="mixed", found=names, wanted="one product")
