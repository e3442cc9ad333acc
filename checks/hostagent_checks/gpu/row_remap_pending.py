"""A faulty memory row waits to be remapped: until the GPU is reset, programs can meet the fault again."""

from hostagent.check import Findings, check, fail, need
from hostagent.core.tables.recovery_actions import RESET_LATER
from hostagent.facts.gpu import Gpu


@check(
    title="No memory row waits to be remapped",
    severity="warning",
    since="0.1",
    because=("gpu.xid", "gpu.ecc_uncorrectable"),
    headline="{device} has a memory row that waits to be remapped",
    remedy=(RESET_LATER,),
    references=("NVIDIA GPU Memory Error Management, section Row Remapping",),
    confirm=("nvidia-smi -q -i <address> -d ROW_REMAPPER  # 'Pending: Yes'",),
)
def row_remap_pending(gpu: Gpu) -> Findings:
    if need(gpu.row_remap).pending:
        yield fail("the remap of a memory row is pending: it waits for a reset", code="pending", found="pending", wanted="none pending")
