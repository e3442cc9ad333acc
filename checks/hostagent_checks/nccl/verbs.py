"""The host has NCCL and RDMA ports, and no libibverbs: NCCL opens no port, and jobs use sockets without a word.

NCCL loads libibverbs.so.1 when a job begins; no package of NCCL asks for it. A container that brings its own NCCL has to bring that, too.
From 2.30.3 on NCCL_IBVERBS_LIB may name another file.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.network.rails import JobRails
from hostagent.facts.nccl import Nccl
from hostagent.facts.rdma import Rdma
from hostagent.profile import Profile

from ._job import are_efa, job, ports_of, weight


@check(
    title="NCCL finds libibverbs where the host has RDMA ports",
    severity="critical",
    scope="fabric",
    since="0.1",
    because=("rdma.present",),
    headline="NCCL finds no libibverbs: jobs use sockets",
    remedy=(Step("install", "Install libibverbs of rdma-core: libibverbs1, on Red Hat libibverbs."),),
    references=("NVIDIA/nccl, src/misc/ibvsymbols.cc", "NCCL documentation, troubleshooting"),
    confirm=("ldconfig -p  # libibverbs.so.1",),
)
def verbs(nccl: Nccl, rdma: Rdma | Unread, rails: JobRails, profile: Profile) -> Findings:
    found = job(nccl)
    if not need(nccl.libraries):
        skip("the host has no library of NCCL")
    if found.value("NCCL_IBVERBS_LIB"):
        skip("NCCL_IBVERBS_LIB names the library")
    ours = ports_of(rails)
    if not ours or are_efa(ours):
        skip("NCCL's own IB has no port here")
    if not need(need(rdma).library):
        text = "the host has NCCL, and no libibverbs.so.1 for it to load"
        yield fail(text, code="absent", found="none", wanted="libibverbs.so.1", at_most=weight(profile))
