"""A row remap failed: the GPU has no spare rows left and must be replaced, not reset."""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, fail, need, warn
from hostagent.facts.gpu import Gpu


class Params(NamedTuple):
    """max_uncorrectable_rows: rows remapped for uncorrectable errors in the GPU's life; more than that warn"""

    max_uncorrectable_rows: int = 8


@check(
    title="No GPU memory row remap has failed",
    severity="critical",
    since="0.1",
    headline="{device} could not remap a memory row",
    remedy=(Step("replace", "Have the GPU replaced."),),
    references=("NVIDIA GPU Memory Error Management, section Row Remapping",),
    confirm=("nvidia-smi -q -i <address> -d ROW_REMAPPER  # 'Remapping Failure Occurred: Yes'",),
)
def row_remap(gpu: Gpu, params: Params) -> Findings:
    rows = need(gpu.row_remap)
    if rows.failed:
        yield fail("row remap failed", code="failed", found="failed", wanted="none failed")
    if rows.uncorrectable > params.max_uncorrectable_rows:
        yield warn(
            "many rows remapped in the GPU's life", code="many", found=rows.uncorrectable, wanted=f"<= {params.max_uncorrectable_rows}"
        )
