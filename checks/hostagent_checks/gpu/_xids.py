"""The Xids of this boot's kernel log."""

from collections.abc import Callable

from hostagent.check import Finding, need, skip
from hostagent.facts.gpu import Gpu, GpuEvents, Xid
from hostagent.knowledge.xids import XidMeaning


def logged(events: GpuEvents, gpus: tuple[Gpu, ...]) -> tuple[Xid, ...]:
    """All of them; a GPU that has gone from PCI may have one. The check does not apply where there is neither an Xid nor a GPU."""
    seen = need(events.xids)
    if not seen and not gpus:
        skip("this host has no NVIDIA GPU")
    return seen


def describe(one: Xid, known: XidMeaning, report: Callable[..., Finding], remedy: str = "") -> Finding:
    """What `report` (fail or warn) makes of one."""
    return report(
        f"{one.pci or 'a GPU'}: Xid {one.code}, {known.meaning}{f', {one.count} times' if one.count > 1 else ''}",
        code=f"xid-{one.code}",
        found=f"Xid {one.code}",
        wanted="none",
        evidence=(one.line,),
        remedy=remedy,
    )
