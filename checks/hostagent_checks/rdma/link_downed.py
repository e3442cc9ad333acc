"""A link of the rails goes down again and again: jobs that run over it then wait, and end after NCCL's retries.

The card counts how often its link was lost since the counter was last cleared, at the latest when the host started. Cables that are
plugged and switches that restart count, too, so a few are no fault. Whether it goes on shows when the number has grown after a day.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, Unread, check, counted, need, warn
from hostagent.domains.network.rails import Rails
from hostagent.facts.host import Identity
from hostagent.facts.kernel import Kernel
from hostagent.facts.platform import Platform

from ._rails import each, need_no, ports_of, whoever_owns

_DAY_S = 86400
_STEPS = (
    Step("drain_and_inspect", "Clean or reseat the cable and the transceiver of this port."),
    Step("replace", "Have the cable or the transceiver replaced.", if_back=True),
)


class Params(NamedTuple):
    """per_day: losses of a link a day of uptime that are no fault; a host that runs for less than a day has as many"""

    per_day: float = 5.0


@check(
    title="The links of the rails stay up",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("link", "no-path"),
    because=("rdma.port_state",),
    headline="The link of {device} goes down again and again",
    remedy=_STEPS,
    references=("Linux kernel, Documentation/ABI/stable/sysfs-class-infiniband", "Azure/azurehpc-health-checks, IB link flapping"),
    confirm=("grep . /sys/class/infiniband/*/ports/*/counters/link_downed", "uptime"),
)
def link_downed(rails: Rails, platform: Platform | Unread, kernel: Kernel, identity: Identity, params: Params) -> Findings:
    ours = ports_of(rails)
    found, gaps = each(ours, lambda port: need(port.link_downed))
    if found:
        days = max(1.0, (need(identity.now) - need(kernel.booted_at)) / _DAY_S)
        for name, times in found.items():
            if times > params.per_day * days:
                text = f"the link went down {counted(times, 'time')} in {counted(round(days), 'day')}"
                wanted = f"<= {params.per_day:g} a day"
                yield warn(text, code="flaps", found=times, wanted=wanted, about=name, remedy=whoever_owns(_STEPS, platform))
    need_no(gaps, found)
