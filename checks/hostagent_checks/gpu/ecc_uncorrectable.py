"""The GPU had memory errors that ECC could not correct, since its driver was loaded.

Each of them ended a program or spoiled its data. An error in the GPU's memory for which a row waits to be remapped is contained:
the GPU goes on and a reset repairs it, so it warns. Errors in SRAM, and those for which no remap waits, fail.
The counters start again when the driver is loaded or the GPU is reset; `gpu.ecc_lifetime` has those of the GPU's life. They tell nothing
of remaps, of the SRAM threshold, or of faults before: each has its own check. Where the log of this boot says that an error of this GPU
was not contained (Xid 95) it fails.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, Unread, check, counted, fail, need, warn
from hostagent.core.tables.recovery_actions import REPLACE_IF_BACK, RESET, RESET_LATER
from hostagent.domains.gpu.faults import is_cleared
from hostagent.facts.gpu import Ecc, Gpu, GpuEvents


class Params(NamedTuple):
    """max_errors: uncorrectable errors since the driver was loaded; more than that are reported"""

    max_errors: int = 0


_UNCONTAINED = 95
_LATER = (RESET_LATER, REPLACE_IF_BACK)


@check(
    title="No uncorrectable memory error since the driver was loaded",
    severity="critical",
    since="0.1",
    because=("gpu.xid",),
    headline="{device} has had an uncorrectable memory error",
    remedy=(
        RESET,
        Step("rerun", "Test the GPU, then run hostagent again.", command="dcgmi diag -r 3"),
        REPLACE_IF_BACK,
    ),
    references=("NVIDIA GPU Memory Error Management", "NVIDIA NVML API Reference, nvmlDeviceGetTotalEccErrors"),
    confirm=(
        "nvidia-smi -q -i <address> -d ECC  # 'Volatile'",
        "journalctl -k -g Xid",
    ),
)
def ecc_uncorrectable(gpu: Gpu, events: GpuEvents, params: Params) -> Findings:
    ecc = need(gpu.ecc)
    errors = need(ecc.volatile_uncorrectable)
    if errors <= params.max_errors:
        return
    text = f"{counted(errors, 'uncorrectable memory error')} since the driver was loaded"
    wanted = f"<= {params.max_errors}"
    if _in_sram(ecc):
        sram = need(ecc.volatile_sram_uncorrectable)
        yield fail(f"{text}, {sram} of them in SRAM", code="sram", found=errors, wanted=wanted)
    elif _remap_waits(gpu) and not _said_uncontained(gpu, events):
        yield warn(f"{text}, contained: a row waits to be remapped", code="contained", found=errors, wanted=wanted, remedy=_LATER)
    else:
        yield fail(text, code="uncorrectable", found=errors, wanted=wanted)


def _in_sram(ecc: Ecc) -> bool:
    """Drivers that do not count them apart leave it to the pending remap, which is for the GPU's memory alone."""
    sram = ecc.volatile_sram_uncorrectable
    return need(sram) > 0 if not isinstance(sram, Unread) or sram.why not in ("absent", "not-supported") else False


def _remap_waits(gpu: Gpu) -> bool:
    rows = gpu.row_remap
    return not isinstance(rows, Unread) and rows.pending and not rows.failed


def _said_uncontained(gpu: Gpu, events: GpuEvents) -> bool:
    """A log that may not be read says nothing: the pending remap is what speaks for the GPU."""
    xids = () if isinstance(events.xids, Unread) else events.xids
    return any((one.pci, one.code) == (gpu.pci, _UNCONTAINED) and not is_cleared(one, events) for one in xids)
