"""A module of NVIDIA's driver logged a fault of its own code: CUDA programs do not start, hang, or cannot be ended.

Counted are the rows of docs/kernel-words.md about nvidia_uvm, nvidia_modeset and traces of the kernel: HMM that finds no address range, a
fatal error of nvidia_uvm, a crash (oops), a hung task or a stuck CPU. A trace counts only by a record that names a function of the driver,
logged by the same task or CPU within seconds: each trace lists all loaded modules, and any process can take any name.

Silent are faults of one program, and WARNING traces, which are notes to developers. A fault is over when the module was loaded again, where
that ends it, and when an administrator has cleared it (`hostagent events clear`).
"""

from hostagent.check import Findings, Unread, check, fail, need, skip, warn
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.gpu.kernel_events import troubles
from hostagent.facts.gpu import Gpu
from hostagent.facts.history import History
from hostagent.facts.kernel_words import KernelWords

#: Its cause is the kernel, not a GPU.
_OWN_CAUSE = frozenset({"uvm-hmm"})


@check(
    title="No module of NVIDIA's driver has logged a fault of its own",
    severity="critical",
    since="0.1",
    explains=("gpu",),
    because=tuple(f"gpu.driver_words:{row}" for row in ("gpu-lost", "gpu-locked", "gsp-heartbeat", "reset-required", "uvm-needs-reboot")),
    headline="A module of NVIDIA's driver logged a fault of its own",
    remedy=(REBOOT,),
    references=("CUDA Toolkit Release Notes, known issues", "open-gpu-kernel-modules issue 901"),
    confirm=("journalctl -k -g nvidia", "cat /sys/module/nvidia_uvm/parameters/uvm_disable_hmm"),
)
def module_words(words: KernelWords, gpus: tuple[Gpu, ...], history: History | Unread) -> Findings:
    if not gpus and isinstance(words.module, Unread):
        skip("this host has no NVIDIA GPU")
    found = troubles("module", need(words.module), history)
    if not found and not gpus:
        skip("this host has no NVIDIA GPU")
    for one in found:
        report = fail if one.row.weight == "critical" else warn
        yield report(
            one.text,
            code=one.row.id,
            found=one.row.id,
            wanted="none",
            evidence=one.lines,
            remedy=one.steps(""),
            headline=one.headline(""),
            because=() if one.row.id in _OWN_CAUSE else None,
        )
