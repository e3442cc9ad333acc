"""A GPU had a fault (Xid) since the host was booted, and it was ended: the driver says that the GPU needs no recovery any more, or its
module was loaded again, and NVML lists the GPU. Worth knowing when it comes back; then `gpu.xid` warns.
"""

from hostagent.check import Findings, Step, Unread, check, need, warn
from hostagent.core.tables.kernel_log import RECOVERY_CODE
from hostagent.domains.gpu.faults import is_cleared
from hostagent.domains.gpu.xid_readings import read_xid
from hostagent.facts.gpu import Gpu, GpuEvents, Xid
from hostagent.facts.history import History

from ._xids import describe, end_of, is_over, logged


@check(
    title="The kernel log of this boot shows no past GPU fault",
    severity="info",
    since="0.1",
    headline="{device} had a fault that is over: {found}",
    remedy=(Step("none", "Nothing now. Tell the vendor the code and the time if the GPU fails again."),),
    references=("NVIDIA, Analyzing Xid Errors with the Xid Catalog",),
    confirm=("journalctl -k -g Xid",),
)
def xid_ended(events: GpuEvents, gpus: tuple[Gpu, ...], history: History | Unread) -> Findings:
    for one in logged(events, gpus, history):
        if one.code == RECOVERY_CODE:  # says what the others want, and is no fault of its own
            continue
        if is_cleared(one, events):  # `gpu.faults_cleared` tells it
            continue
        reading = read_xid(one, gpus)
        _need_service(one, gpus)
        if reading.meaning.kind in ("critical", "warning") and is_over(one, gpus):
            yield describe(one, reading, warn, more=end_of(one), headline=" (over)")


def _need_service(one: Xid, gpus: tuple[Gpu, ...]) -> None:
    """Whether what the log ended is over is not known where nobody could ask NVML for the GPU."""
    for gpu in gpus:
        if gpu.pci == one.pci and one.ended_by:
            need(gpu.in_nvml)
