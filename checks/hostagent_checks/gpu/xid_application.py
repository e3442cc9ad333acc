"""Programs hit faults on a GPU: accesses out of bounds, exceptions. The programs are the usual cause, the GPU is well.

The same code from many programs on one GPU, and on no other, does point at the GPU.
"""

from hostagent.check import Findings, check, need, skip, warn
from hostagent.facts.gpu import Gpu, GpuEvents
from hostagent.knowledge.xids import meaning


@check(
    title="The kernel log of this boot has no fault of a program on a GPU",
    severity="info",
    since="0.1",
    remedy="Look at the program that the line names; run 'dcgmi diag -r 3' if several programs hit it on one GPU.",
    references=("NVIDIA, Analyzing Xid Errors with the Xid Catalog",),
)
def xid_application(events: GpuEvents, gpus: tuple[Gpu, ...]) -> Findings:
    seen = need(events.xids)
    if not seen and not gpus:
        skip("this host has no NVIDIA GPU")
    for one in seen:
        known = meaning(one.code)
        if known.kind == "application":
            times = f", {one.count} times" if one.count > 1 else ""
            yield warn(
                f"{one.pci or 'a GPU'}: Xid {one.code}, {known.meaning}{times}",
                code=f"xid-{one.code}",
                found=f"Xid {one.code}",
                wanted="none",
                evidence=(one.line,),
            )
