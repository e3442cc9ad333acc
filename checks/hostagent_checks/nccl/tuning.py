"""NCCL_ALGO or NCCL_PROTO keep NCCL from choosing: what was faster once, for one message on one cluster, holds for all jobs.

From 2.24 on NCCL stops with "invalid usage" at a word that it does not know, and at the first call of a function that is left without an
algorithm: broadcast has the ring alone. LL128 may corrupt data in silence where GPUs have no NVLink: NCCL does not choose it there.
"""

from collections.abc import Iterator

from hostagent.check import Finding, Findings, Step, Unread, check, fail, warn
from hostagent.domains.nccl.tables.changes import stops_at_unknown_words
from hostagent.domains.nccl.tuning import WORDS, read
from hostagent.facts.gpu import Gpu
from hostagent.facts.nccl import Nccl
from hostagent.profile import Profile

from ._job import Job, job, weight


@check(
    title="NCCL chooses algorithms and protocols by itself",
    severity="critical",
    scope="fabric",
    since="0.1",
    headline="{found} keeps NCCL from choosing by itself",
    remedy=(Step("configure", "Take NCCL_ALGO and NCCL_PROTO out, but for a measurement."),),
    references=("NCCL documentation, environment variables: NCCL_ALGO", "NVIDIA/nccl, src/graph/tuning.cc"),
    confirm=("grep -nE 'NCCL_(ALGO|PROTO)' /etc/nccl.conf",),
)
def tuning(nccl: Nccl, gpus: tuple[Gpu, ...] | Unread, profile: Profile) -> Findings:
    host = job(nccl)
    for name in filter(host.value, WORDS):
        yield from _judged(host, name, profile, with_nvlink=_with_nvlink(gpus))


def _judged(host: Job, name: str, profile: Profile, *, with_nvlink: bool) -> Iterator[Finding]:
    value, version = host.value(name), host.version()
    found, shown = read(name, value, version), f"{name}={value}"
    evidence, steps = host.evidence(name), (host.without(name),)
    if found.wrong:
        is_strict = stops_at_unknown_words(version)
        text = f"{shown}: NCCL does not know {found.wrong!r}, and {'stops' if is_strict else 'ignores it in silence'}"
        headline = f"{shown} ends jobs: NCCL does not know {found.wrong!r}" if is_strict else f"NCCL ignores {found.wrong!r} in {shown}"
        limit = weight(profile) if is_strict else "warning"
        wanted = ", ".join(WORDS[name])
        yield fail(text, code="word", found=shown, wanted=wanted, evidence=evidence, headline=headline, remedy=steps, at_most=limit)
    elif found.without_ring:
        text = f"{shown} leaves {' and '.join(found.without_ring)} without an algorithm: jobs that call them stop"
        headline = f"{shown} leaves functions without an algorithm"
        yield warn(text, code="no-ring", found=shown, wanted="Ring for them", evidence=evidence, headline=headline, remedy=steps,
                   at_most="warning")  # fmt: skip
    elif found.forces_ll128 and not with_nvlink:
        text = f"{shown} forces LL128, which may corrupt data where NCCL would not choose it"
        headline = f"{shown} forces a protocol that may corrupt data"
        yield warn(text, code="ll128", found=shown, wanted="unset", evidence=evidence, headline=headline, remedy=steps, at_most="warning")
    else:
        text = f"{shown}: NCCL chooses by size and hosts where it is not set"
        yield warn(text, code="set", found=shown, wanted="unset", evidence=evidence, remedy=steps, at_most="info")


def _with_nvlink(gpus: tuple[Gpu, ...] | Unread) -> bool:
    """Known to be: there NCCL takes LL128 by itself."""
    return not isinstance(gpus, Unread) and any(not isinstance(gpu.nvlinks, Unread) and gpu.nvlinks for gpu in gpus)
