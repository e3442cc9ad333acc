"""An InfiniBand port has a link and no subnet manager: it stays in the state INIT, has no address, and carries nothing.

Any subnet manager does: the switch's own, UFM, or opensm on one host of the network. It has to reach this port, and to know its
card. RoCE and EFA need none.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.network.rails import Rails
from hostagent.domains.network.tables.rdma_devices import INFINIBAND, UP
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort

from ._rails import NO_GUID, each, is_shared, lines, need_no, ports_of, whoever_owns

_STEPS = (
    Step("contact_owner", "Ask who runs the InfiniBand network whether its subnet manager runs."),
    Step("configure", "Look whether the subnet manager knows this port, or leaves it out.", if_back=True),
)


@check(
    title="A subnet manager has made the InfiniBand ports that jobs use active",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma", "no-path"),
    headline="No subnet manager has made {device} active",
    remedy=_STEPS,
    references=("Linux kernel, Documentation/ABI/stable/sysfs-class-infiniband", "opensm(8)"),
    confirm=("grep . /sys/class/infiniband/*/ports/*/state /sys/class/infiniband/*/ports/*/sm_lid",),
)
def subnet_manager(rails: Rails, platform: Platform | Unread) -> Findings:
    everyone = ports_of(rails)
    ours = tuple(port for port in everyone if need(port.link_layer) == INFINIBAND)
    if not ours:
        skip("no InfiniBand port carries traffic of jobs")
    texts, gaps = each(ours, _wrong)
    wrong = {name: text for name, text in texts.items() if text}
    remedy = whoever_owns(_STEPS, platform)
    if is_shared(wrong, ours):
        headline = f"No subnet manager serves the {len(ours)} InfiniBand ports that jobs use"
        text = f"no subnet manager has made any of the {len(ours)} rails active"
        yield fail(text, code="none", found="none", wanted="a subnet manager", evidence=lines(wrong), headline=headline, remedy=remedy)
    else:
        for name, text in wrong.items():
            headline = "{device} is active, and knows no subnet manager" if "knows no" in text else ""
            wanted = "ACTIVE by a subnet manager"
            yield fail(text, code="not-managed", found=text, wanted=wanted, about=name, remedy=remedy, headline=headline)
    need_no(gaps, texts)


def _wrong(port: RdmaPort) -> str:
    """A port without a link waits for its cable, not for a subnet manager; a virtual function without a GUID for whoever sets it up."""
    state, physical, manager = need(port.state), need(port.physical_state), need(port.sm_lid)
    if physical != "LinkUp" or state == "DOWN":
        return ""
    if state not in UP:
        return "" if need(port.node_guid) == NO_GUID else f"the link is up and the port is {state}"
    return "" if manager else f"the port is {state} and knows no subnet manager"
