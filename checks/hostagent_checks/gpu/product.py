"""A GPU is another product than the profile asks for: a job sized for its memory or its instructions does not fit."""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.gpu import Gpu
from hostagent.profile import Profile


@check(
    title="The GPU is the product that the profile asks for",
    severity="critical",
    since="0.1",
    headline="{device} is {found}, the profile asks for {wanted}",
    remedy=(Step("configure", "If this product is meant, set gpus.product in the profile; else move the GPU elsewhere."),),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetName",),
    confirm=("nvidia-smi -L",),
)
def product(gpu: Gpu, profile: Profile) -> Findings:
    wanted = profile.gpus.product
    if not wanted:
        skip("the profile accepts any product")
    if wanted.lower() not in need(gpu.name).lower():
        yield fail(f"the GPU is {gpu.name}, the profile asks for {wanted}", code="other-product", found=gpu.name, wanted=wanted)
