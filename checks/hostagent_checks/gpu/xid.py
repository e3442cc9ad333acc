"""The driver logged a fault (Xid) of a GPU since the host was booted.

The finding gives NVIDIA's meaning of the code and what to do. Faults after which the GPU is not to be trusted fail;
others warn, codes that nobody documents too. What programs cause is listed by `gpu.xid_application`. A GPU that has gone
from PCI is named here all the same. The log of this boot counts, so a fault that was mended by a reset without a reboot
stays until the next one: `ignore` in the profile takes codes that were looked at.
"""

from typing import NamedTuple

from hostagent.check import Findings, check, fail, warn
from hostagent.facts.gpu import Gpu, GpuEvents
from hostagent.knowledge.xids import meaning

from ._xids import describe, logged


class Params(NamedTuple):
    ignore: str = ""  # codes, separated by commas


#: What the line of an NVLink 5 fault says that the hardware recovered from.
_NONFATAL = " Nonfatal "
#: The end of an Xid 154 that takes an earlier demand back.
_RECOVERED = "(None)"


@check(
    title="The kernel log of this boot has no GPU fault",
    severity="critical",
    since="0.1",
    remedy="Look the code up in NVIDIA's Xid catalog and follow its action.",
    references=("NVIDIA, Analyzing Xid Errors with the Xid Catalog", "NVSentinel issue 155"),
)
def xid(events: GpuEvents, gpus: tuple[Gpu, ...], params: Params) -> Findings:
    ignored = {code.strip() for code in params.ignore.split(",")}
    for one in logged(events, gpus):
        known = meaning(one.code)
        if known.kind in ("application", "notice") or str(one.code) in ignored or one.line.endswith(_RECOVERED):
            continue
        report = fail if known.kind == "critical" and _NONFATAL not in one.line else warn
        yield describe(one, known, report, known.action)
