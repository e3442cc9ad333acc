"""The GPU had uncorrectable memory errors in its life. Worth knowing when it fails again; its past alone is no fault."""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, counted, need, warn
from hostagent.facts.gpu import Gpu


class Params(NamedTuple):
    """max_errors: uncorrectable errors in the GPU's life; more than that warn"""

    max_errors: int = 0


@check(
    title="The GPU has never had an uncorrectable memory error",
    severity="info",
    since="0.1",
    because=("gpu.xid", "gpu.ecc_uncorrectable"),
    headline="{device} has had uncorrectable memory errors",
    remedy=(Step("none", "Nothing now. Tell the vendor the count if the GPU fails again."),),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetTotalEccErrors",),
    confirm=("nvidia-smi -q -i <address> -d ECC  # 'Aggregate'",),
)
def ecc_lifetime(gpu: Gpu, params: Params) -> Findings:
    errors = need(need(gpu.ecc).aggregate_uncorrectable)
    if errors > params.max_errors:
        yield warn(
            f"{counted(errors, 'uncorrectable memory error')} in the GPU's life",
            code="errors",
            found=errors,
            wanted=f"<= {params.max_errors}",
        )
