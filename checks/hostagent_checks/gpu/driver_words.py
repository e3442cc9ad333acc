"""The GPU driver logged words that ask for a reset or a reboot, with no Xid: new programs fail while NVML shows nothing.

Counted are the rows of docs/kernel-words.md about NVRM and NVSwitches: assertions with the status "reset required" or "GPU lost", the
heartbeat of the GPU's firmware, an error of nvidia_uvm that only a reboot ends. Other assertions of NVRM are notes to its developers, which
healthy hosts log, too: they stay silent.

NVRM names no PCI address in most of these records. They are over when the driver was loaded again, when the driver says of each GPU that
asked for a reset (or of all GPUs) that it needs none any more, or when an administrator has cleared them (`hostagent events clear`); what
asks for a reboot ends with the boot.
"""

from hostagent.check import Finding, Findings, Unread, check, fail, need, skip, warn
from hostagent.core.tables.kernel_log import RECOVERY_CODE
from hostagent.core.tables.recovery_actions import REBOOT, RESET_ALL
from hostagent.domains.gpu.kernel_events import Trouble, trouble, troubles
from hostagent.domains.gpu.tables.xids import meaning
from hostagent.facts.gpu import Gpu, GpuEvents
from hostagent.facts.history import History
from hostagent.facts.kernel_words import KernelEvent, KernelWords


@check(
    title="The GPU driver has logged no words that ask for a reset or a reboot",
    severity="critical",
    since="0.1",
    explains=("gpu",),
    because=(
        *("gpu.on_bus", "gpu.lost", "gpu.xid", "gpu.answers", "gpu.init_failed", "driver.loaded", "nvswitch.board"),
        *("gpu.reset_required:reset", "gpu.recovery_action:reset", "gpu.recovery_action:reboot", "gpu.bound:none"),
    ),
    headline="The GPU driver logged that it cannot go on with a GPU",
    remedy=(RESET_ALL, REBOOT),
    references=("kubernetes-sigs/dra-driver-nvidia-gpu issue 982",),
    confirm=("journalctl -k -g NVRM", "nvidia-smi -q"),
)
def driver_words(words: KernelWords, gpus: tuple[Gpu, ...], events: GpuEvents | Unread, history: History | Unread) -> Findings:
    if not gpus and isinstance(words.gpu, Unread):
        skip("this host has no NVIDIA GPU")
    found = troubles("gpu", need(words.gpu), history)
    if not found and not gpus:
        skip("this host has no NVIDIA GPU")
    for one in found:
        left = [event for event in one.events if not _is_over(event, words, gpus, events)]
        if left:
            yield _finding(trouble(one.subject, left), gpus, events)


def _finding(one: Trouble, gpus: tuple[Gpu, ...], events: GpuEvents | Unread) -> Finding:
    """About the GPU that the record names, else the one that an Xid names: the two are one fault."""
    report = fail if one.row.weight == "critical" else warn
    xids = () if isinstance(events, Unread) or isinstance(events.xids, Unread) else events.xids
    named = [gpu.pci for gpu in gpus if gpu.pci == one.subject]
    named += [xid.pci for xid in xids if not xid.ended_by and meaning(xid.code).kind == "critical"]
    return report(
        one.text,
        code=one.row.id,
        found=one.row.id,
        wanted="none",
        evidence=one.lines,
        remedy=one.steps("the GPU"),
        headline=one.headline("a GPU"),
        about=named[0] if named else "",
    )


def _is_over(one: KernelEvent, words: KernelWords, gpus: tuple[Gpu, ...], events: GpuEvents | Unread) -> bool:
    """Each GPU that asked for a reset had one since, or all GPUs had."""
    if isinstance(words.ends, Unread) or isinstance(one.seconds, Unread):
        return False
    since = one.seconds
    reset = {end.subject for end in words.ends if end.by == "reset" and not isinstance(end.at, Unread) and end.at >= since}
    xids = () if isinstance(events, Unread) or isinstance(events.xids, Unread) else events.xids
    asked = {xid.pci for xid in xids if xid.code == RECOVERY_CODE}
    every = {gpu.pci for gpu in gpus}
    return bool(reset) and (asked or every) <= reset
