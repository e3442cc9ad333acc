"""The kernel logged an error of the host's memory or a CPU that hardware did not correct: data of jobs was lost, or a program was killed.

Counted are the rows of docs/kernel-words.md about memory: uncorrectable errors of EDAC, machine checks with an uncorrected status, pages
that the kernel took out of use, and what the firmware reports (APEI). They are one finding, since one error writes several of them, and the
counters of EDAC count the same.

Corrected errors count for nothing, in any number, as do deferred ones of AMD that no program read, and errors of the boot before (BERT).
What an administrator has cleared (`hostagent events clear`) no longer counts.
"""

from hostagent.check import Findings, Unread, check, first_of, need, warn
from hostagent.domains.gpu.kernel_events import trouble, troubles
from hostagent.facts.history import History
from hostagent.facts.kernel_words import KernelWords

_LONGEST = 90
_MEMORY = "a memory module"


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
def memory_words(words: KernelWords, history: History | Unread) -> Findings:
    found = troubles("memory", need(words.memory), history)
    if not found:
        return
    modules = [one.subject for one in found if one.subject]
    named = next((one for one in found if one.subject), found[0])
    one = trouble(named.subject, (*named.events, *(event for other in found if other is not named for event in other.events)))
    device = first_of(modules, 2) if modules else _MEMORY
    headline = one.headline(device) if modules else one.headline("").replace(" ()", "")
    yield warn(
        one.text,
        code=one.row.id,
        found=device if modules else one.row.id,
        wanted="none",
        evidence=one.lines,
        remedy=one.steps(device),
        headline=headline if len(headline) <= _LONGEST else "",
    )
