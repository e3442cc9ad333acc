"""A faulty memory page waits to be retired: until the GPU is reset, programs can meet the fault again."""

from hostagent.check import Findings, check, fail, need
from hostagent.core.tables.recovery_actions import RESET_LATER
from hostagent.facts.gpu import Gpu


@check(
    title="No memory page waits to be retired",
    severity="warning",
    since="0.1",
    because=("gpu.xid", "gpu.ecc_uncorrectable"),
    headline="{device} has a memory page that waits to be retired",
    remedy=(RESET_LATER,),
    references=("NVIDIA Dynamic Page Retirement",),
    confirm=("nvidia-smi -q -i <address> -d PAGE_RETIREMENT  # 'Pending Page Blacklist: Yes'",),
)
def retired_pages_pending(gpu: Gpu) -> Findings:
    if need(gpu.retired_pages).pending:
        yield fail(
            "the retirement of a memory page is pending: it waits for a reset", code="pending", found="pending", wanted="none pending"
        )
