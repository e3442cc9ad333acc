"""NCCL may not use relaxed ordering on PCIe in a virtual machine, where it is what makes GPUDirect RDMA fast.

Without it reads and writes of a card wait for each other at the host's IOMMU. NCCL_IB_PCI_RELAXED_ORDERING is 2, automatic, by default;
clouds set 1. On a host of its own it makes no difference as a rule.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.network.rails import JobRails
from hostagent.facts.nccl import Nccl
from hostagent.facts.platform import Platform

from ._job import job
from ._ports import verbs

_NAME = "NCCL_IB_PCI_RELAXED_ORDERING"


@check(
    title="NCCL uses relaxed ordering in a virtual machine",
    severity="warning",
    scope="fabric",
    since="0.1",
    headline="{found} makes RDMA slow in this virtual machine",
    remedy=(Step("configure", "Take NCCL_IB_PCI_RELAXED_ORDERING out, or set it to 1."),),
    references=("NCCL documentation, environment variables: NCCL_IB_PCI_RELAXED_ORDERING",),
    confirm=("grep -n RELAXED_ORDERING /etc/nccl.conf",),
)
def relaxed_ordering(nccl: Nccl, rails: JobRails, platform: Platform | Unread) -> Findings:
    host = job(nccl)
    if host.number(_NAME) is None:
        skip(f"{_NAME} is not set")
    if need(need(platform).virtual) != "vm":
        skip("the host is no virtual machine")
    verbs(rails)
    if host.number(_NAME) == 0:
        shown, steps = f"{_NAME}=0", (host.instead(_NAME, "1"),)
        text = f"{shown}: reads and writes of the network cards wait for each other"
        yield fail(text, code="off", found=shown, wanted="1, or unset", evidence=host.evidence(_NAME), remedy=steps)
