"""The GPU has retired so many memory pages that NVIDIA replaces it. GPUs before Ampere only; newer ones remap rows."""

from typing import NamedTuple

from hostagent.check import Findings, check, counted, fail, need
from hostagent.core.tables.recovery_actions import REPLACE
from hostagent.facts.gpu import Gpu


class Params(NamedTuple):
    """max_pages: pages retired in the GPU's life; more than that fail"""

    max_pages: int = 59


@check(
    title="The GPU has few retired memory pages",
    severity="warning",
    since="0.1",
    headline="{device} has too many retired memory pages",
    remedy=(REPLACE,),
    references=("NVIDIA Dynamic Page Retirement, section RMA Eligibility",),
    confirm=("nvidia-smi -q -i <address> -d PAGE_RETIREMENT",),
)
def retired_pages(gpu: Gpu, params: Params) -> Findings:
    pages = need(gpu.retired_pages)
    retired = pages.single_bit + pages.double_bit
    if retired > params.max_pages:
        yield fail(
            f"{counted(retired, 'memory page')} retired in the GPU's life; NVIDIA replaces a GPU at 60",
            code="many",
            found=retired,
            wanted=f"<= {params.max_pages}",
        )
