"""A feature of NCCL is forced where the GPUs do not have it, which can end jobs when they begin; or it is off where they have it.

NCCL_NVLS_ENABLE and NCCL_MNNVL_ENABLE are 2, automatic, by default. 1 asks for NVLink SHARP, or for NVLink between hosts, whatever the GPUs
are: NCCL then fails with NVLink SHARP, and up to 2.20 without NVLink between hosts. NCCL_NVLS_ENABLE=0 on a host with
NVSwitches costs a part of the rate within the host; NCCL_CUMEM_ENABLE=0 takes both away.
"""

from collections.abc import Iterator

from hostagent.check import Finding, Findings, Step, check, fail, need, skip, warn
from hostagent.facts.gpu import Gpu
from hostagent.facts.nccl import Nccl
from hostagent.facts.unread import Unread
from hostagent.profile import Profile

from ._job import Job, job, weight

_NVLS, _MNNVL, _CUMEM = "NCCL_NVLS_ENABLE", "NCCL_MNNVL_ENABLE", "NCCL_CUMEM_ENABLE"
_HAVE: "dict[str, str]" = {_NVLS: "NVLink SHARP", _MNNVL: "NVLink to other hosts"}
_NO_FABRIC = "not-supported"


@check(
    title="NCCL's features are on where the GPUs have them",
    severity="critical",
    scope="fabric",
    since="0.1",
    headline="{found} asks for what the GPUs do not have",
    remedy=(Step("configure", "Take the setting out: NCCL finds out by itself what the GPUs have."),),
    references=("NCCL documentation, environment variables: NCCL_NVLS_ENABLE",),
    confirm=("grep -nE 'NVLS|CUMEM' /etc/nccl.conf", "nvidia-smi -q | grep -A4 Fabric"),
)
def features(nccl: Nccl, gpus: tuple[Gpu, ...], profile: Profile) -> Findings:
    host = job(nccl)
    names = [name for name in (_NVLS, _MNNVL, _CUMEM) if host.number(name) in (0, 1)]
    if not names:
        skip("no feature is forced or off")
    if not gpus:
        skip("the host has no GPU")
    joined = tuple(_fabric(gpu) for gpu in gpus)
    for name, has_it in ((_NVLS, all(one is not None for one in joined)), (_MNNVL, all(joined))):
        if host.number(name) == 1 and not has_it:
            shown, steps = f"{name}=1", (host.without(name),)
            text = f"{shown}, and not all GPUs of this host have {_HAVE[name]}"
            evidence, limit = host.evidence(name), weight(profile) if name == _NVLS else "warning"
            yield fail(text, code="forced", found=shown, wanted="unset", evidence=evidence, remedy=steps, at_most=limit)
    if any(one is not None for one in joined):
        yield from _off(host)


def _off(host: Job) -> Iterator[Finding]:
    for name in (_NVLS, _CUMEM):
        if host.number(name) == 0:
            shown, steps = f"{name}=0", (host.without(name),)
            text = f"{shown}: the GPUs have NVLink SHARP, and NCCL does not use it"
            evidence, headline = host.evidence(name), f"{shown} keeps NCCL from NVLink SHARP"
            yield warn(text, code="off", found=shown, wanted="unset", evidence=evidence, headline=headline, remedy=steps, at_most="info")


def _fabric(gpu: Gpu) -> "str | None":
    """The cluster whose fabric the GPU joins, "" for that of one host; None where it joins none."""
    if isinstance(gpu.fabric, Unread) and gpu.fabric.why == _NO_FABRIC:
        return None
    found = need(gpu.fabric)
    return None if found.state == _NO_FABRIC else found.cluster_uuid.strip("0-")
