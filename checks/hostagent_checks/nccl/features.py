"""A feature of NCCL is forced where the GPUs do not have it, which can end jobs when they begin.

NCCL_NVLS_ENABLE and NCCL_MNNVL_ENABLE are 2, automatic, by default. 1 asks for NVLink SHARP, or for NVLink between hosts, whatever the GPUs
are: NCCL then fails with NVLink SHARP, and up to 2.20 without NVLink between hosts.
"""

from hostagent.check import Findings, Step, Unread, check, fail, skip
from hostagent.facts.gpu import Gpu
from hostagent.facts.nccl import Nccl
from hostagent.profile import Profile

from ._fabric import clusters
from ._job import job, weight

_NVLS, _MNNVL = "NCCL_NVLS_ENABLE", "NCCL_MNNVL_ENABLE"


@check(
    title="No NCCL setting asks for a feature that the GPUs do not have",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("nvls",),
    headline="{found} asks for what the GPUs do not have",
    remedy=(Step("configure", "Take the setting out: NCCL finds out by itself what the GPUs have."),),
    references=("NCCL documentation, environment variables: NCCL_NVLS_ENABLE",),
    confirm=("grep -nE 'NVLS|MNNVL' /etc/nccl.conf", "nvidia-smi -q | grep -A4 Fabric"),
)
def features(nccl: Nccl, gpus: tuple[Gpu, ...] | Unread, profile: Profile) -> Findings:
    host = job(nccl)
    forced = [name for name in (_NVLS, _MNNVL) if host.number(name) == 1]
    if not forced:
        skip("no feature is forced")
    joined = clusters(gpus)
    for name, what, limit, has_it in (
        (_NVLS, "NVLink SHARP", weight(profile), all(one is not None for one in joined)),
        (_MNNVL, "NVLink to other hosts", "warning", all(joined)),
    ):
        if name in forced and not has_it:
            shown, steps = f"{name}=1", (host.without(name),)
            text = f"{shown}, and not all GPUs of this host have {what}"
            yield fail(text, code="forced", found=shown, wanted="unset", evidence=host.evidence(name), remedy=steps, at_most=limit)
