"""A setting keeps NCCL from NVLink SHARP, which adds up in the NVSwitches and brings more rate within a host: left over, as a rule.

NCCL_NVLS_ENABLE=0 turns it off; NCCL_CUMEM_ENABLE=0, a way around faults of old versions, takes from it what it needs.
"""

from hostagent.check import Findings, Step, Unread, check, skip, warn
from hostagent.facts.gpu import Gpu
from hostagent.facts.nccl import Nccl

from ._fabric import clusters
from ._job import job

_NAMES = ("NCCL_NVLS_ENABLE", "NCCL_CUMEM_ENABLE")


@check(
    title="No NCCL setting keeps jobs from NVLink SHARP",
    severity="info",
    scope="fabric",
    since="0.1",
    headline="{found} keeps NCCL from NVLink SHARP",
    remedy=(Step("configure", "Take the setting out, and see whether jobs work without it."),),
    references=("NCCL documentation, environment variables: NCCL_NVLS_ENABLE",),
    confirm=("grep -nE 'NVLS|CUMEM' /etc/nccl.conf",),
)
def nvlink_sharp(nccl: Nccl, gpus: tuple[Gpu, ...] | Unread) -> Findings:
    host = job(nccl)
    off = [name for name in _NAMES if host.number(name) == 0]
    if not any(host.value(name) for name in _NAMES):
        skip("no setting concerns NVLink SHARP")
    if off and all(one is None for one in clusters(gpus)):
        skip("the GPUs have no NVLink SHARP")
    for name in off:
        shown, steps = f"{name}=0", (host.without(name),)
        text = f"{shown}: the GPUs have NVLink SHARP, and NCCL does not use it"
        yield warn(text, code="off", found=shown, wanted="unset", evidence=host.evidence(name), remedy=steps)
