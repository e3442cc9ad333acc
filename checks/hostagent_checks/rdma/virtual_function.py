"""An InfiniBand virtual function was not set up on its card: without a GUID, or with its link told to stay down, it never gets active.

Whoever gives it to a virtual machine or a pod sets both: node and port GUID, and a policy that follows the card's own link. Those of
functions that lie on a host and are not given to anybody yet are not judged.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.network.rails import Rails
from hostagent.domains.network.tables.rdma_devices import INFINIBAND

from ._rails import NO_GUID, each, need_no, ports_of

_DOWN = "Down"


@check(
    title="The InfiniBand virtual functions that jobs use were set up",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma",),
    headline="{device} is a virtual function that was not set up",
    remedy=(
        Step("contact_owner", "On the machine that has the card, set this function's GUIDs and its link policy."),
        Step("configure", "There, ip-link(8) sets them: node_guid, port_guid and state of the virtual function."),
    ),
    references=("ip-link(8)", "Linux kernel, Documentation/ABI/stable/sysfs-class-infiniband"),
    confirm=("grep . /sys/class/infiniband/*/node_guid",),
)
def virtual_function(rails: Rails) -> Findings:
    ours = tuple(port for port in ports_of(rails) if need(port.link_layer) == INFINIBAND)
    if not ours:
        skip("no InfiniBand port carries traffic of jobs")
    found, gaps = each(ours, lambda port: (need(port.node_guid), need(port.link_policy)))
    for name, (guid, policy) in found.items():
        if guid == NO_GUID:
            yield fail("the function has no GUID", code="no-guid", found=guid, wanted="a GUID", about=name)
        elif policy == _DOWN:
            yield fail("the function's link is told to stay down", code="policy", found=policy, wanted="Follow or Up", about=name)
    need_no(gaps, found)
