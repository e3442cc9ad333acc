"""NVML lists the GPU, and the driver no longer serves it: NVML gets no handle of it, or an error that means "not loaded".

Tools print "Unable to determine the device handle" with NVML's error: unknown error, driver not loaded, insufficient external power. NVML
itself runs, so the error is of this GPU alone, and no reason to call a check of it inapplicable. "GPU is lost" and "reset required" have
checks of their own. A permission, a cgroup or a time that ran out stops the reader, not the GPU; in a container "unknown error" may be a
device that the container may not open. Then it is unknown.
"""

from hostagent.check import Findings, Unread, check, fail, need
from hostagent.core.tables.recovery_actions import LOST
from hostagent.domains.gpu.tables.refusals import refusal
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform

#: Errors 15 and 16: `gpu.lost`, `gpu.reset_required`.
_JUDGED_ELSEWHERE = (15, 16)
_UNKNOWN_ERROR = 999


@check(
    title="NVML answers for the GPU",
    severity="critical",
    since="0.1",
    explains=("gpu",),
    because=("gpu.on_bus", "gpu.xid", "gpu.init_failed"),
    order=23,  # as gpu.lost: before kernel and driver, whose findings may follow from it
    headline="NVML fails for {device}: {found}",
    remedy=LOST,
    references=("nvml.h, nvmlReturn_t", "NVIDIA NVML API Reference, nvmlDeviceGetHandleByIndex_v2"),
    confirm=(
        "nvidia-smi -i <address>  # 'Unable to determine the device handle'",
        "journalctl -k -g NVRM",
    ),
)
def answers(gpu: Gpu, platform: Platform | Unread) -> Findings:
    code = need(gpu.nvml_refusal)
    if not code or code in _JUDGED_ELSEWHERE:
        return
    if code == _UNKNOWN_ERROR and (isinstance(platform, Unread) or platform.in_container):
        need(Unread("error", "NVML's unknown error in a container: it may lack a permission for this GPU's device"))
    found = refusal(code)
    silent = next((one for one in (gpu.lost, gpu.temperature_celsius, gpu.ecc, gpu.row_remap) if isinstance(one, Unread)), "")
    yield fail(
        f"NVML runs, and answers with error {code} ({found.words}) about this GPU",
        code=f"error-{code}",
        found=found.words,
        wanted="answers",
        about=silent,
        remedy=found.remedy,
    )
