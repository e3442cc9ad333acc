"""The Xids of this boot's kernel log, and which of them are over."""

from collections.abc import Callable

from hostagent.check import Finding, Step, need, skip
from hostagent.facts.gpu import Gpu, GpuEvents, Xid
from hostagent.facts.unread import Unread
from hostagent.knowledge.xids import ENDED_BY_REPLACEMENT, LOSS_CODES, XidMeaning, weighed_by

_ENDS = {"reset": "a reset of the GPU", "load": "a new load of the driver"}


def logged(events: GpuEvents, gpus: tuple[Gpu, ...]) -> tuple[Xid, ...]:
    """All of them; a GPU that has gone from PCI may have one. The check does not apply where there is neither an Xid nor a GPU."""
    seen = need(events.xids)
    if not seen and not gpus:
        skip("this host has no NVIDIA GPU")
    return seen


def is_over(one: Xid, gpus: tuple[Gpu, ...]) -> bool:
    """The log says what ended it, and NVML serves the GPU now. What only a new board ends goes on."""
    if not one.ended_by or one.code in ENDED_BY_REPLACEMENT:
        return False
    return any(gpu.pci == one.pci and gpu.in_nvml is True and gpu.lost is not True for gpu in gpus)


def end_of(one: Xid) -> str:
    """What ended it, and when."""
    return f"ended by {_ENDS.get(one.ended_by, one.ended_by)}{at(one.ended_at)}"


def at(seconds: "float | Unread") -> str:
    """A time of the kernel log, as people say it.

    >>> at(93784.5), at(59.9), at(Unread("not-recorded"))
    (' 1 d 2:03 after the boot', ' 0:00 after the boot', '')
    """
    if isinstance(seconds, Unread):
        return ""
    minutes = int(seconds) // 60
    days, rest = divmod(minutes, 24 * 60)
    return f" {f'{days} d ' if days else ''}{rest // 60}:{rest % 60:02} after the boot"


def describe(one: Xid, known: XidMeaning, report: Callable[..., Finding], remedy: "tuple[Step, ...]" = (), more: str = "") -> Finding:
    """What `report` (fail or warn) makes of one."""
    times = f", {one.count} times, the last" if one.count > 1 and not isinstance(one.seconds, Unread) else ""
    times = times or (f", {one.count} times" if one.count > 1 else "")
    return report(
        f"Xid {one.code}, {known.meaning}{times}{at(one.seconds)}{f'; {more}' if more else ''}",
        code=f"xid-{one.code}",
        found=f"Xid {one.code}",
        wanted="none",
        evidence=(one.line, weighed_by(one.code)),
        remedy=remedy,
        about=one.pci,
        because=None if one.code in LOSS_CODES else (),
    )
