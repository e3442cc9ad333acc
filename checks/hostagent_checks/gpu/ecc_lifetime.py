"""The GPU had uncorrectable memory errors in its life. Worth knowing when it fails again; its past alone is no fault."""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, need, warn
from hostagent.facts.gpu import Gpu


class Params(NamedTuple):
    """max_errors: uncorrectable errors in the GPU's life; more than that warn"""

    max_errors: int = 0


@check(
    title="No uncorrectable memory error in the GPU's life",
    severity="info",
    since="0.1",
    because=("gpu.xid", "gpu.ecc_uncorrectable"),
    headline="{device} had {found} uncorrectable memory errors in its life",
    remedy=(Step("none", "Nothing now. Name the count when the GPU is sent in."),),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetTotalEccErrors",),
    confirm=("nvidia-smi -q -i <address> -d ECC  # 'Aggregate'",),
)
def ecc_lifetime(gpu: Gpu, params: Params) -> Findings:
    errors = need(need(gpu.ecc).aggregate_uncorrectable)
    if errors > params.max_errors:
        yield warn(f"{errors} uncorrectable memory errors in its life", code="errors", found=errors, wanted=f"<= {params.max_errors}")
