"""The driver logged a fault (Xid) of a GPU since the host was booted, and nothing has ended it.

The finding gives NVIDIA's meaning of the code and what to do. Faults after which the GPU cannot be trusted fail.
All other codes, documented or not, are warnings. What programs cause is listed by `gpu.xid_application`. A GPU that has gone
from PCI is named here all the same.

A fault is over when the driver says later that this GPU needs no recovery any more (an Xid 154 to "None", as after a reset), or when
its module was loaded again, and NVML lists the GPU now: `gpu.xid_ended` reports it. What only a new board ends is never over. The same
code on the same GPU after its end warns for a day. `ignore` in the profile takes codes that somebody has looked at.

What an administrator has cleared (`hostagent events clear`) no longer counts, and `gpu.faults_cleared` tells it; a later record counts
again. What only a new board ends is not cleared: with a new board comes a new boot.

A log that reaches back neither to the boot nor a day may have lost faults: it warns. A daemon that has watched the log for as long has
seen them, and remembers them.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, Unread, check, fail, need, warn
from hostagent.core.tables.kernel_log import RECOVERY_CODE
from hostagent.domains.gpu.faults import is_cleared, lost
from hostagent.domains.gpu.tables.xids import meaning
from hostagent.facts.gpu import Gpu, GpuEvents, Xid
from hostagent.facts.history import History

from ._xids import KEEP_LOG, at, describe, end_of, is_over, logged, steps_of


class Params(NamedTuple):
    """ignore: Xid codes that somebody has looked at and that no longer count, such as [79, 154]
    min_log_hours: hours; a log that begins after the boot and reaches back less than that warns
    again_hours: hours for which a fault that came back after it had ended still counts
    """

    ignore: tuple[int, ...] = ()
    min_log_hours: float = 24.0
    again_hours: float = 24.0


_HOUR_S = 3600
#: What the line of an NVLink 5 fault says that the hardware recovered from.
_NONFATAL = " Nonfatal "
#: What the driver wants after a contained memory error: jobs go on, no new ones, a reset when the GPU is idle.
_LATER = " (Drain and Reset)"
_COMES_BACK = (
    Step("drain_and_inspect", "Test the GPU.", command="dcgmi diag -r 3"),
    Step("contact_owner", "Ask the GPU's vendor.", if_back=True),
)


@check(
    title="The kernel log of this boot has no unresolved GPU fault",
    severity="critical",
    since="0.1",
    explains=("gpu",),
    because=("gpu.on_bus",),
    headline="{device} logged a fault: {found}",
    remedy=(Step("drain_and_inspect", "Look the code up in NVIDIA's Xid catalog, and follow it."),),
    references=("NVIDIA, Analyzing Xid Errors with the Xid Catalog", "NVSentinel issue 155", "NVIDIA/NVSentinel pull request 1240"),
    confirm=(
        "journalctl -k -g Xid",
        "nvidia-smi -q -i <address>",
    ),
)
def xid(events: GpuEvents, gpus: tuple[Gpu, ...], history: History | Unread, params: Params) -> Findings:
    counted = [one for one in logged(events, gpus, history) if not is_cleared(one, events)]
    faults = [one for one in counted if meaning(one.code).kind not in ("application", "notice")]
    last_end: dict[tuple[str, int], Xid] = {}
    for one in [one for one in faults if one.code not in params.ignore]:
        known = meaning(one.code)
        if not is_over(one, gpus):
            goes_on = _NONFATAL in one.line or (one.code == RECOVERY_CODE and one.line.endswith(_LATER))
            report = fail if known.kind == "critical" and not goes_on else warn
            more = "the kernel log has lost it since" if any(one is gone for gone in lost(history, "xid")) else ""
            yield describe(one, known, report, steps_of(one, known), more)
        else:
            if (one.pci, one.code) in last_end and _is_recent(one.seconds, events, params.again_hours):
                yield describe(one, known, warn, _COMES_BACK, f"it came back after it had ended once, and was {end_of(one)}")
            last_end[one.pci, one.code] = one
    if gpus and not need(events.log_complete) and not _reaches_back(events, history, params.min_log_hours):
        text = f"the kernel log is incomplete: it begins {at(events.log_oldest) or 'after the boot'}"
        wanted = f"from the boot on, or the last {params.min_log_hours:g} hours"
        yield warn(
            text,
            code="log-incomplete",
            found="incomplete",
            wanted=wanted,
            remedy=KEEP_LOG,
            headline="The kernel log no longer shows this whole boot: GPU faults may be lost",
        )


def _is_recent(seconds: "float | Unread", events: GpuEvents, hours: float) -> bool:
    """What has no time may be of just now."""
    if isinstance(seconds, Unread) or isinstance(events.uptime, Unread):
        return True
    return events.uptime - seconds < hours * _HOUR_S


def _reaches_back(events: GpuEvents, history: "History | Unread", hours: float) -> bool:
    if _has_watched(history, hours):
        return True
    if isinstance(events.log_oldest, Unread) or isinstance(events.uptime, Unread):
        return False
    return events.uptime - events.log_oldest >= hours * _HOUR_S


def _has_watched(history: "History | Unread", hours: float) -> bool:
    """The daemon has seen all of this boot, or of the last hours."""
    if isinstance(history, Unread) or isinstance(history.since, Unread) or isinstance(history.now, Unread):
        return False
    return history.since == 0 or history.now - history.since >= hours * _HOUR_S
