"""Programs hit faults on a GPU: accesses out of bounds, exceptions. The programs are the usual cause; the GPU is healthy.

The same code from many programs on one GPU, and on no other, does point at the GPU.
"""

from hostagent.check import Findings, Step, Unread, check, warn
from hostagent.domains.gpu.faults import is_cleared
from hostagent.domains.gpu.xid_readings import read_xid
from hostagent.facts.gpu import Gpu, GpuEvents
from hostagent.facts.history import History

from ._xids import describe, logged


@check(
    title="The kernel log of this boot shows no program that faulted on a GPU",
    severity="info",
    since="0.1",
    headline="A program made {device} log {found}",
    remedy=(
        Step("none", "Look at the program that the log line names."),
        Step("none", "If several programs fault on this GPU alone, test it."),
    ),
    references=("NVIDIA, Analyzing Xid Errors with the Xid Catalog",),
    confirm=(
        "journalctl -k -g Xid",
        "nvidia-smi pmon -c 1  # which programs use the GPUs now",
    ),
)
def xid_application(events: GpuEvents, gpus: tuple[Gpu, ...], history: History | Unread) -> Findings:
    for one in logged(events, gpus, history):
        reading = read_xid(one, gpus)
        if reading.meaning.kind == "application" and not is_cleared(one, events):
            yield describe(one, reading, warn)
