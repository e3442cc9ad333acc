"""The NCCL that a job finds first has a fault that its maker knows of, and that a later version does not have.

A fault counts only for hosts and jobs that meet its condition: hostagent shows it, and lets it count in no verdict.
"""

from hostagent.check import Findings, Step, check, need, skip, warn
from hostagent.domains.nccl.tables.faults import faults
from hostagent.facts.nccl import Nccl

from ._job import job


@check(
    title="No fault is known of this version of NCCL",
    severity="info",
    scope="fabric",
    since="0.1",
    headline="NCCL {found} has known faults",
    remedy=(Step("install", "Use a version of NCCL that does not have them."),),
    references=("NCCL Release Notes", "NVIDIA/nccl releases", "NVIDIA/nccl issue 1732"),
    confirm=("ldconfig -p  # libnccl",),
)
def known_faults(nccl: Nccl) -> Findings:
    found = job(nccl)
    if not need(nccl.libraries):
        skip("the host has no library of NCCL")
    known = faults(found.version())
    if known:
        text = ".".join(map(str, found.version()))
        fixed = ".".join(map(str, max(one.fixed for one in known)))
        evidence = tuple(f"NCCL {text} {one.what} ({one.source})" for one in known)
        yield warn(f"NCCL {text} {known[0].what}", code="known", found=text, wanted=f"{fixed} or later", evidence=evidence)
