"""A RoCE device sends all connections with a traffic class of its own, which is not the one that jobs are to set.

The vendor's driver has one setting per device (tc/1/traffic_class) that overrides what a program asks for, NCCL_IB_TC included. Zero is no
such setting. The profile's rdma.traffic_class says what jobs set; without it there is nothing to compare.
"""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.network.rails import Rails
from hostagent.facts.rdma import RdmaPort
from hostagent.profile import Profile

from ._rails import roce_ports


@check(
    title="No RoCE device overrides the traffic class of jobs",
    severity="info",
    scope="fabric",
    since="0.1",
    explains=("no-path",),
    headline="{device} sends with traffic class {found}, not {wanted}",
    remedy=(
        Step("configure", "Write the profile's value to tc/1/traffic_class of the device, or -1 to leave it to jobs."),
        Step("configure", "Let jobs set NCCL_IB_TC to the same value, on all hosts.", if_back=True),
    ),
    references=("NCCL documentation, environment variables: NCCL_IB_TC", "NVIDIA MLNX_OFED Documentation, Quality of Service"),
    confirm=("grep . /sys/class/infiniband/*/tc/1/traffic_class",),
)
def traffic_class(ports: tuple[RdmaPort, ...], rails: Rails, profile: Profile) -> Findings:
    wanted = profile.rdma.traffic_class
    if not wanted:
        skip("the profile names no traffic class")
    gaps: list[Unread] = []
    ports = roce_ports(rails)
    for port in ports:
        if isinstance(port.traffic_class, Unread):
            gaps.append(port.traffic_class)
        elif port.traffic_class > 0 and port.traffic_class != wanted:
            text = f"the device sends with traffic class {port.traffic_class}, jobs are to set {wanted}"
            yield fail(text, code="overrides", found=port.traffic_class, wanted=wanted, about=port.name)
    open_ones = [gap for gap in gaps if gap.why not in NOT_APPLICABLE]
    if open_ones or len(gaps) == len(ports):
        need((open_ones or gaps)[0])
