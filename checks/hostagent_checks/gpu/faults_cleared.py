"""An administrator said that faults of this boot no longer count (`hostagent events clear`).

What they said is told until the boot ends: who looks at the host next should know that it had faults, and why they do not count. A fault
that is logged later counts again. What only a new board ends goes on all the same: `gpu.xid` tells it.
"""

from hostagent.check import Findings, Step, Unread, check, need, skip, warn
from hostagent.domains.gpu.faults import covers, lost, may_be_cleared
from hostagent.domains.gpu.kernel_events import covers as covers_event
from hostagent.facts.gpu import Clearing, Gpu, GpuEvents, Xid
from hostagent.facts.history import History
from hostagent.facts.kernel_words import KernelEvent, KernelWords

from ._xids import at

_MOST = 8


@check(
    title="Nobody has cleared faults of this boot",
    severity="info",
    since="0.1",
    headline="An administrator cleared faults of this boot: they no longer count",
    remedy=(Step("none", "Nothing now. Look at the reason if the GPU fails again."),),
    references=("NVIDIA, Analyzing Xid Errors with the Xid Catalog",),
    confirm=("cat /run/hostagent/cleared.json", "journalctl -k -g Xid"),
)
def faults_cleared(events: GpuEvents, gpus: tuple[Gpu, ...], kernel_words: KernelWords | Unread, history: History | Unread) -> Findings:
    words = need(events.cleared)
    if not words and not gpus:
        skip("this host has no NVIDIA GPU")
    for word in words:
        faults = _faults(word, events, history)
        named = list(dict.fromkeys(f"{what} {one.code} of {one.pci or 'a device without an address'}" for what, one in faults))
        others = _others(word, kernel_words)
        named += dict.fromkeys(f"{one.row} of {one.subject or 'the host'}" for one in others)
        more = [f"{len(named) - _MOST} more"] if len(named) > _MOST else []
        whose = f"of {word.subject}" if word.subject else "of all devices"
        yield warn(
            f"an administrator cleared the faults {whose} {at(word.at)}: {word.reason}",
            code="cleared",
            found=(*named[:_MOST], *more) or "nothing that the kernel log shows now",
            wanted="nothing to clear",
            evidence=(*(one.line for _, one in faults), *(one.line for one in others))[:_MOST],
            about=word.subject,
        )


def _faults(word: Clearing, events: GpuEvents, history: "History | Unread") -> list[tuple[str, Xid]]:
    """A log that could not be read shows none; what was said is told all the same."""
    xids, sxids = (() if isinstance(one, Unread) else one for one in (events.xids, events.sxids))
    xids, sxids = (*lost(history, "xid"), *xids), (*lost(history, "sxid"), *sxids)
    found = [("Xid", one) for one in xids if covers(word, one) and may_be_cleared(one.code)]
    return found + [("SXid", one) for one in sxids if covers(word, one)]


def _others(word: Clearing, words: "KernelWords | Unread") -> list[KernelEvent]:
    """Events of the kernel log other than Xids that the acknowledgement ended."""
    if isinstance(words, Unread):
        return []
    parts = (words.gpu, words.module, words.pci, words.nic, words.memory, words.volume)
    known = [one for part in parts if not isinstance(part, Unread) for one in part]
    return [one for one in known if one.ended_by == "cleared" and covers_event(word, one)]
