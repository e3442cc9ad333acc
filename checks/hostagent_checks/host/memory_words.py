"""The kernel logged an error of the host's memory or a CPU that hardware did not correct: data of jobs was lost, or a program was killed.

Counted are the rows of docs/kernel-words.md about memory: uncorrectable errors of EDAC, machine checks with an uncorrected status, pages
that the kernel took out of use, and what the firmware reports (APEI). They are one finding, since one error writes several of them, and the
counters of EDAC count the same.

Corrected errors count for nothing, in any number, as do deferred ones of AMD that no program read, and errors of the boot before (BERT).
Worth knowing are pages that the kernel took out of use where GPUs share their memory with the CPU (GH200, GB200: their driver does so with
pages of the GPU), and machine checks that the boot before has left.
What an administrator has cleared (`hostagent events clear`) no longer counts.
"""

from hostagent.check import Findings, Step, Unread, check, first_of, need, warn
from hostagent.core.tables.pci import is_coherent
from hostagent.domains.gpu.kernel_events import trouble, troubles
from hostagent.facts.gpu import Gpu
from hostagent.facts.history import History
from hostagent.facts.kernel_words import KernelEvent, KernelWords

_LONGEST = 90
_MEMORY = "a memory module"
#: What EDAC writes where it cannot tell the module.
_NO_MODULE = ("any memory", "unknown memory")
_PAGE = "memory-page-lost"
_WATCH = (Step("none", "Look whether more follow.", "journalctl -k -g 'Hardware Error|Memory failure'"),)
#: Seconds since the boot in which the kernel reads what is left in the registers of the CPUs.
_BOOT_S = 5.0


@check(
    title="The kernel has logged no uncorrected error of the host's memory or a CPU",
    severity="warning",
    since="0.1",
    because=("host.memory_errors",),
    headline="The host's memory or a CPU has an uncorrected error",
    remedy="Have the memory module that the log names replaced.",
    action="replace",
    references=("Linux kernel, Documentation/admin-guide/RAS", "mej/nhc pull request 23"),
    confirm=("journalctl -k -g 'Hardware Error'", "grep -H . /sys/devices/system/edac/mc/mc*/ue_count"),
)
def memory_words(words: KernelWords, history: History | Unread, gpus: tuple[Gpu, ...] | Unread) -> Findings:
    found = troubles("memory", need(words.memory), history)
    if not found:
        return
    has_own = not isinstance(gpus, Unread) and any(not isinstance(gpu.device_id, Unread) and is_coherent(gpu.device_id) for gpu in gpus)
    modules = [one.subject for one in found if one.subject and one.subject not in _NO_MODULE]
    named = next((one for one in found if one.subject in modules), found[0])
    one = trouble(named.subject, (*named.events, *(event for other in found if other is not named for event in other.events)))
    device = first_of(modules, 2) if modules else _MEMORY
    headline = one.headline(device) if modules else one.headline("").replace(" ()", "")
    is_mild = all(_is_of_before(each) or (each.row == _PAGE and has_own) for about in found for each in about.events)
    yield warn(
        one.text,
        code=one.row.id,
        found=device if modules else one.row.id,
        wanted="none",
        evidence=one.lines,
        remedy=_WATCH if is_mild else one.steps(device),
        headline=headline if len(headline) <= _LONGEST else "",
        at_most="info" if is_mild else None,
    )


def _is_of_before(event: KernelEvent) -> bool:
    """A machine check that was left in the registers by the boot before: the kernel logs it first of all, and not as an exception."""
    return (
        event.row == "machine-check"
        and ": Machine Check: 0 " in event.line
        and not isinstance(event.seconds, Unread)
        and event.seconds < _BOOT_S
    )
