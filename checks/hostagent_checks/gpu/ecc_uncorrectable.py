"""The GPU had memory errors that ECC could not correct, since its driver was loaded.

Each of them ended a program or spoiled its data. The GPU remaps the row or retires the page, for good only after a reset.
The counters tell nothing of the remapping, of the SRAM threshold, or of faults before: each has its own check.
"""

from typing import NamedTuple

from hostagent.check import Findings, check, fail, need
from hostagent.facts.gpu import Gpu


class Params(NamedTuple):
    max_errors: int = 0


@check(
    title="No uncorrectable memory error since the driver was loaded",
    severity="critical",
    since="0.1",
    remedy="Drain the node and reset the GPU, then run 'dcgmi diag -r 3'; replace the GPU if the errors come back.",
    references=("NVIDIA GPU Memory Error Management", "NVIDIA NVML API Reference, nvmlDeviceGetTotalEccErrors"),
)
def ecc_uncorrectable(gpu: Gpu, params: Params) -> Findings:
    errors = need(need(gpu.ecc).volatile_uncorrectable)
    if errors > params.max_errors:
        yield fail(
            f"{errors} uncorrectable memory errors since the driver was loaded",
            code="uncorrectable",
            found=errors,
            wanted=f"<= {params.max_errors}",
        )
