"""The GPU has less memory than Acme's jobs need: they are placed by memory, and would be killed on this one."""

from typing import NamedTuple

from hostagent.check import Findings, check, fail, need
from hostagent.facts.gpu import Gpu

from ._sizes import gib


class Params(NamedTuple):
    min_gib: int = 40


@check(
    title="Every GPU has the memory that Acme's jobs need",
    severity="warning",
    since="1.0",
    remedy="Move the host to the queue for small jobs.",
    references=("Acme host handbook, chapter 4",),
)
def memory(gpu: Gpu, params: Params) -> Findings:
    found_gib = gib(need(gpu.memory_bytes))
    if found_gib < params.min_gib:
        yield fail(f"{found_gib} GiB of memory, wanted {params.min_gib}", code="small", found=found_gib, wanted=f">= {params.min_gib}")
