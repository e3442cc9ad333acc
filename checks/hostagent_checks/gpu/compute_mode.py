"""The GPU takes no compute work: its compute mode is 'prohibited', and CUDA says that no device is available."""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.gpu import Gpu


@check(
    title="The GPU takes compute work",
    severity="critical",
    since="0.1",
    headline="{device} takes no compute work: its compute mode is '{found}'",
    remedy=(Step("configure", "Set the compute mode of the GPU back to the default.", command="nvidia-smi -i {subject} -c DEFAULT"),),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetComputeMode",),
    confirm=("nvidia-smi -q -i <address> -d COMPUTE",),
)
def compute_mode(gpu: Gpu) -> Findings:
    if need(gpu.compute_mode) == "prohibited":
        yield fail(
            "the compute mode is prohibited, so CUDA finds no device", code="prohibited", found="prohibited", wanted="default or exclusive"
        )
