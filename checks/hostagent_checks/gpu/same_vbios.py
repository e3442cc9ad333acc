"""GPUs of one kind on this host have different VBIOS versions: worth knowing when only one of them misbehaves."""

from hostagent.check import Findings, Step, check, first_of, need, warn
from hostagent.facts.gpu import Gpu

from ._peers import peer_values


@check(
    title="The GPU has the same VBIOS as its peers",
    severity="info",
    since="0.1",
    because=("gpu.same_model",),
    headline="{device} has a different VBIOS than its peers",
    remedy=(Step("install", "Bring all GPUs to one VBIOS version at the next maintenance; the system's vendor has it."),),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetVbiosVersion",),
    confirm=("nvidia-smi --query-gpu=pci.bus_id,name,vbios_version --format=csv",),
)
def same_vbios(gpu: Gpu, gpus: tuple[Gpu, ...]) -> Findings:
    own = need(gpu.vbios)
    others = sorted({version for version in peer_values(gpu, gpus, lambda one: one.vbios) if version != own})
    if others:
        yield warn(f"VBIOS {own}, its peers have {first_of(others)}", code="differs", found=own, wanted=first_of(others))
