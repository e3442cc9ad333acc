"""The kernel log does not reach back to the boot: faults before its first line are not known.

The ring buffer has wrapped, and the journal does not have the rest or may not be read.
"""

from hostagent.check import Findings, check, need, skip, warn
from hostagent.facts.gpu import Gpu, GpuEvents

from ._xids import KEEP_LOG


@check(
    title="The kernel log reaches back to the boot",
    severity="info",
    since="0.1",
    headline="The kernel log does not reach back to the boot",
    remedy=KEEP_LOG,
    references=("Linux kernel, Documentation/ABI/testing/dev-kmsg", "journald.conf(5)"),
    confirm=(
        "dmesg -T | head -n 1",
        "uptime -s",
        "journalctl -k | head -n 1",
    ),
)
def xid_log_complete(events: GpuEvents, gpus: tuple[Gpu, ...]) -> Findings:
    if not gpus:
        skip("this host has no NVIDIA GPU")
    if not need(events.log_complete):
        yield warn(
            "the kernel log is incomplete: it begins after the boot",
            code="incomplete",
            found="incomplete",
            wanted="from the boot on",
        )
