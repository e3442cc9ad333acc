"""The host has GPUs of different products: a job on all of them is as slow, and has as little memory, as its weakest GPU."""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, first_of, need, skip, warn
from hostagent.facts.gpu import Gpu


@check(
    title="All GPUs of the host are the same product",
    severity="warning",
    since="0.1",
    headline="The GPUs of this host are different products",
    remedy=(Step("configure", "If the mix is meant, turn this check off in the profile, and schedule GPUs by product."),),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetName",),
    confirm=("nvidia-smi -L",),
)
def same_model(gpus: tuple[Gpu, ...]) -> Findings:
    judged = [gpu for gpu in gpus if not _is_left_out(gpu)]
    if len(judged) < 2:
        skip("the host has fewer than two GPUs to compare")
    names = sorted({need(gpu.name) for gpu in judged})
    if len(names) > 1:
        yield warn(f"{len(names)} products: {first_of(names)}", code="mixed", found=first_of(names), wanted="one product")


def _is_left_out(gpu: Gpu) -> bool:
    """Another driver has the GPU, and NVML does not: it has no name."""
    is_nameless = isinstance(gpu.name, Unread) and gpu.name.why in NOT_APPLICABLE
    return is_nameless and need(gpu.bound_to) != "nvidia"
