"""The Xids of this boot's kernel log, and which of them are over."""

from collections.abc import Callable

from hostagent.check import Finding, Step, Unread, need, skip
from hostagent.core.tables.kernel_log import RECOVERY_CODE
from hostagent.core.tables.recovery_actions import LOST, REBOOT, RESET, RESET_LATER
from hostagent.domains.gpu.faults import lost
from hostagent.domains.gpu.tables.xids import ENDED_BY_REPLACEMENT, LOSS_CODES, XidMeaning, meaning, weighed_by
from hostagent.facts.gpu import Gpu, GpuEvents, Xid
from hostagent.facts.history import History

#: What the driver asks for in an Xid 154, by its words at the end of the line.
_ASKED = {
    "(GPU Reset Required)": RESET,
    "(Node Reboot Required)": Step("reboot", "Reboot the node: the driver asks for it (Xid 154)."),
    "(Drain P2P)": Step("drain_and_inspect", "End the jobs that reach this GPU from other GPUs: the driver asks for it (Xid 154)."),
    "(Drain and Reset)": RESET_LATER,
}
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
    if not one.ended_by or one.code in ENDED_BY_REPLACEMENT:
        return False
    return any(gpu.pci == one.pci and gpu.in_nvml is True and gpu.lost is not True for gpu in gpus)


def end_of(one: Xid) -> str:
    """What ended it, and when."""
    return " ".join(("ended by", _ENDS.get(one.ended_by, one.ended_by), at(one.ended_at))).rstrip()


def steps_of(one: Xid, known: XidMeaning) -> tuple[Step, ...]:
    """What NVIDIA says of the code; of an Xid 154 what its line asks for."""
    asked = next((step for words, step in _ASKED.items() if one.line.rstrip().endswith(words)), None)
    return (asked,) if one.code == RECOVERY_CODE and asked else known.action


def ladder_of(pci: str, events: "GpuEvents | Unread") -> tuple[Step, ...]:
    """Of a GPU that is lost: the driver's own wish is the first rung, where it asks for more than a reset."""
    xids = () if isinstance(events, Unread) or isinstance(events.xids, Unread) else events.xids
    asked = [step for one in xids if (one.pci, one.code) == (pci, RECOVERY_CODE) for step in steps_of(one, meaning(one.code))]
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
    one: Xid, known: XidMeaning, report: Callable[..., Finding], remedy: "tuple[Step, ...]" = (), more: str = "", headline: str = ""
) -> Finding:
    """What `report` (fail or warn) makes of one."""
    when = at(one.seconds)
    times = f"{one.count} times{', last ' if when else ''}" if one.count > 1 else ""
    said = f" ({times}{when})" if times or when else ""
    return report(
        f"Xid {one.code}: {known.meaning}{said}{f'; {more}' if more else ''}",
        code=f"xid-{one.code}",
        found=f"Xid {one.code}",
        wanted="none",
        evidence=(one.line, weighed_by(one.code)),
        remedy=remedy,
        about=one.pci,
        because=None if one.code in LOSS_CODES else (),
        headline=f"{{device}} logged Xid {one.code}: {known.meaning}{headline}",
    )
