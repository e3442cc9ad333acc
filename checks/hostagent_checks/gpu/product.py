"""A GPU is another product than the profile asks for: a job sized for its memory or its instructions does not fit."""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.gpu import Gpu
from hostagent.profile import Profile


@check(
    title="The GPU is the product that the profile wants",
    severity="critical",
    since="0.1",
    headline="{device} is {found}, the profile wants {wanted}",
    remedy=(Step("configure", "Name this product in gpus.product of the profile, or put the GPU into another host."),),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetName",),
    confirm=("nvidia-smi -L",),
)
def product(gpu: Gpu, profile: Profile) -> Findings:
    wanted = profile.gpus.product
    if not wanted:
        skip("the profile takes any product")
    if wanted.lower() not in need(gpu.name).lower():
        yield fail(f"{gpu.name}, profile wants {wanted}", code="other-product", found=gpu.name, wanted=wanted)
