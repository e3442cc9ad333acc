"""The Xids of this boot's kernel log, and which of them are over."""

from collections.abc import Callable, Iterable

from hostagent.check import Finding, Severity, Step, Unread, need, skip
from hostagent.core.tables.recovery_actions import DRIVER_STEPS, LOST, REBOOT
from hostagent.domains.gpu.faults import lost
from hostagent.domains.gpu.tables.xids import ENDED_BY_REPLACEMENT, LOSS_CODES
from hostagent.domains.gpu.xid_lines import recovery_action
from hostagent.domains.gpu.xid_readings import XidReading, is_repaired_by_reset
from hostagent.facts.gpu import Gpu, GpuEvents, Xid
from hostagent.facts.history import History

KEEP_LOG = (
    Step("configure", "Keep the journal on disk.", "mkdir -p /var/log/journal"),
    Step("restart_service", "Restart the journal.", "systemctl restart systemd-journald"),
)
_ENDS = {"reset": "a reset of the GPU", "load": "a new load of the driver", "cleared": "an administrator's word"}


def logged(events: GpuEvents, gpus: tuple[Gpu, ...], history: "History | Unread") -> tuple[Xid, ...]:
    """All of them, those that the log has lost first; a GPU that has gone from PCI may have one. The check does not apply where there is
    neither an Xid nor a GPU.
    """
    seen = (*lost(history, "xid"), *need(events.xids))
    if not seen and not gpus:
        skip("this host has no NVIDIA GPU")
    return seen


def is_over(one: Xid, gpus: tuple[Gpu, ...]) -> bool:
    """The log says what ended it, and NVML serves the GPU now. What only a new board ends goes on."""
    if not one.ended_by or (one.code in ENDED_BY_REPLACEMENT and not is_repaired_by_reset(one)):
        return False
    return any(gpu.pci == one.pci and gpu.in_nvml is True and gpu.lost is not True for gpu in gpus)


def end_of(one: Xid) -> str:
    """What ended it, and when."""
    return " ".join(("ended by", _ENDS.get(one.ended_by, one.ended_by), at(one.ended_at))).rstrip()


def asked_by_driver(xids: "Iterable[Xid]") -> dict[str, Step]:
    """The step of the newest Xid 154 of each GPU, by address: the driver knows best what its GPU needs."""
    steps = ((one.pci, DRIVER_STEPS.get(recovery_action(one))) for one in xids)
    return {pci: step for pci, step in steps if step}


def ladder_of(pci: str, events: "GpuEvents | Unread") -> tuple[Step, ...]:
    """Steps for a GPU that is lost: first what the driver asks for, where that is more than a reset."""
    xids = () if isinstance(events, Unread) or isinstance(events.xids, Unread) else events.xids
    asked = [step for one in xids for step in asked_by_driver([one]).values() if one.pci == pci]
    return (next((step for step in asked if step.action == "reboot"), REBOOT), *LOST[1:])


def at(seconds: "float | Unread") -> str:
    """A time of the kernel log, as people say it.

    >>> at(93784.5), at(59.9), at(Unread("not-recorded"))
    ('1 d 2:03 after the boot', '0:00 after the boot', '')
    """
    if isinstance(seconds, Unread):
        return ""
    minutes = int(seconds) // 60
    days, rest = divmod(minutes, 24 * 60)
    return f"{f'{days} d ' if days else ''}{rest // 60}:{rest % 60:02} after the boot"


def describe(
    one: Xid,
    reading: XidReading,
    report: Callable[..., Finding],
    remedy: "tuple[Step, ...]" = (),
    more: str = "",
    headline: str = "",
    at_most: "Severity | None" = None,
) -> Finding:
    """The finding of one fault, made by `report` (fail or warn)."""
    when, meaning = at(one.seconds), reading.meaning.meaning
    times = f"{one.count} times{', last ' if when else ''}" if one.count > 1 else ""
    said = f" ({times}{when})" if times or when else ""
    part = f", {reading.part}" if reading.part else ""
    return report(
        f"Xid {one.code}{part}: {meaning}{said}{f'; {more}' if more else ''}",
        code=f"xid-{one.code}",
        found=f"Xid {one.code}{part}",
        wanted="none",
        evidence=(one.line, reading.why),
        remedy=remedy,
        about=one.pci,
        because=None if one.code in LOSS_CODES else (),
        headline=f"{{device}} logged Xid {one.code}: {meaning}{headline}",
        at_most=at_most,
    )
