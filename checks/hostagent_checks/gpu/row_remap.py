"""A row remap failed: the GPU has no spare rows left and must be replaced, not reset."""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, fail, need, warn
from hostagent.core.tables.recovery_actions import REPLACE
from hostagent.facts.gpu import Gpu


class Params(NamedTuple):
    """max_uncorrectable_rows: rows remapped for uncorrectable errors in the GPU's life; more than that warn"""

    max_uncorrectable_rows: int = 8


@check(
    title="Every faulty memory row of the GPU could be remapped",
    severity="critical",
    since="0.1",
    headline="{device} could not remap a memory row",
    remedy=(REPLACE,),
    references=("NVIDIA GPU Memory Error Management, section Row Remapping",),
    confirm=("nvidia-smi -q -i <address> -d ROW_REMAPPER  # 'Remapping Failure Occurred: Yes'",),
)
def row_remap(gpu: Gpu, params: Params) -> Findings:
    rows = need(gpu.row_remap)
    if rows.failed:
        yield fail("the remap of a faulty memory row failed: no spare rows are left", code="failed", found="failed", wanted="none failed")
    if rows.uncorrectable > params.max_uncorrectable_rows:
        text, limit = f"{rows.uncorrectable} memory rows were remapped in the GPU's life", params.max_uncorrectable_rows
        headline, watch = (
            "{device} has had many memory rows remapped",
            Step("none", "Nothing now. Have the GPU replaced if the count keeps growing."),
        )
        yield warn(text, code="many", found=rows.uncorrectable, wanted=f"<= {limit}", headline=headline, remedy=(watch,))
