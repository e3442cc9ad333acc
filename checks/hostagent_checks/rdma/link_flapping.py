"""A link of the rails went down again and again within the last hours: jobs that run over it wait, and end after NCCL's retries.

The daemon alone knows when: it sees the port go down, or its card's count grow. Links that went down before it watched are of no account
here: `rdma.link_downed` weighs the card's count since the host started.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, Unread, check, counted, need, warn
from hostagent.domains.network.rails import Rails
from hostagent.facts.history import History
from hostagent.facts.platform import Platform

from ._rails import ports_of, whoever_owns

_HOUR_S = 3600
_STEPS = (
    Step("drain_and_inspect", "Clean or reseat the cable and the transceiver of this port."),
    Step("replace", "Have the cable or the transceiver replaced.", if_back=True),
)


class Params(NamedTuple):
    """window_hours: hours that count
    most: times that a link may go down in them
    """

    window_hours: float = 1.0
    most: int = 2


@check(
    title="No link of the rails has gone down again and again in the last hours",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("link", "no-path"),
    because=("rdma.port_state",),
    headline="The link of {device} is flapping",
    remedy=_STEPS,
    references=("Linux kernel, Documentation/ABI/stable/sysfs-class-infiniband", "Azure/azurehpc-health-checks, IB link flapping"),
    confirm=("grep . /sys/class/infiniband/*/ports/*/counters/link_downed", "uptime"),
)
def link_flapping(history: History, rails: Rails, platform: Platform | Unread, params: Params) -> Findings:
    downs = {one.port: one.times for one in need(history.link_downs)}
    begins = need(history.now) - params.window_hours * _HOUR_S
    for port in ports_of(rails):
        times = sum(at > begins for at in downs.get(port.name, ()))
        if times > params.most:
            yield warn(
                f"the link went down {counted(times, 'time')} in {params.window_hours:g} h",
                code="flaps",
                found=counted(times, "time"),
                wanted=f"<= {params.most} in {params.window_hours:g} h",
                about=port.name,
                remedy=whoever_owns(_STEPS, platform),
            )
