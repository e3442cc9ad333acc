"""A GPU is another product than the profile wants: a job sized for its memory or its instructions does not fit."""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.gpu import Gpu
from hostagent.profile import Profile


@check(
    title="The GPU is the product that the profile wants",
    severity="critical",
    since="0.1",
    remedy="Put the GPU into a host that wants it, or name this one's product in gpus.product of the profile.",
    references=("NVIDIA NVML API Reference, nvmlDeviceGetName",),
)
def product(gpu: Gpu, profile: Profile) -> Findings:
    wanted = profile.gpus.product
    if not wanted:
        skip("the profile takes any product")
    if wanted.lower() not in need(gpu.name).lower():
        yield fail(f"{gpu.name}, profile wants {wanted}", code="other-product", found=gpu.name, wanted=wanted)
