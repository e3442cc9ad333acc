"""Not all was read that has to be equal on the nodes of one job, so nothing shows which nodes this one may run a job with.

Schedulers place jobs of several nodes by the label fabric-class: all that such a job depends on is equal on nodes of one class. A pod
without the host's network namespace cannot ask the cards of RoCE ports for their lossless priority. A node without a class for that reason
is no node for such jobs: this is unknown, and so is the verdict for several nodes. What was asked and has no usable answer is worth
knowing, and no more: a card whose firmware settles its priorities with the switch, a driver without DCB, a kernel whose release does not
say whether it takes DMA-BUF.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.nccl.class_inputs import CLASS_INPUTS
from hostagent.domains.nccl.fabric_class import inputs
from hostagent.domains.nccl.fabric_node import FabricNode
from hostagent.profile import Profile

#: Inputs of the class that may stay open though all was read.
_NONE, _NO_RAILS = "none", "0"
_WORDS = {"traffic_class": "the traffic class of the rails", "gdr": "GPUDirect RDMA"}


@check(
    title="The fabric class of the node is known",
    severity="critical",
    scope="fabric",
    since="0.1",
    because=("network.pfc",),
    headline="The node has no fabric class, for want of {found}",
    remedy=(Step("configure", "Let the host set the priorities of the rails (mlnx_qos --dcbx os)."),),
    references=("Linux kernel, include/uapi/linux/dcbnl.h", "NCCL documentation, environment variables: NCCL_IB_TC"),
    confirm=("ip -br addr", "mlnx_qos -i <interface>  # PFC, trust state and dscp2prio"),
)
def fabric_class(fabric: FabricNode, profile: Profile) -> Findings:
    found = inputs(fabric.node, CLASS_INPUTS)
    for name, value in found.items():
        if not isinstance(value, Unread):
            continue
        gap: Unread | None = value
        if name == "traffic_class" and value.why == "error":
            gap = fabric.unasked_priorities
        elif name == "gdr" and value.why == "error":
            gap = fabric.unasked_gdr
        if gap is not None:
            need(gap)
        text = f"no fabric class: {_WORDS[name]} is not known ({value.detail or value.why})"
        yield fail(text, code="no-class", found=_WORDS[name], wanted="a fabric class", at_most="info")
    if profile.verbs == "optional" and found["active_mtu"] == _NONE and found["hcas"] != _NO_RAILS:
        skip("the active MTU of its rails was not asked, as the profile lets it: the class is made without it")
    if profile.nvml == "optional" and found["mig"] == _NONE and found["gpu_count"] != "0":
        skip("NVML was not asked, as the profile lets it: the class is made without memory and MIG of the GPUs")
    if not need(fabric.ports):
        skip("the host has no RDMA port: its jobs of several nodes have TCP alone")
