"""An interface that carries the packets of a rail has a smaller MTU than the rail's own interface.

Of a VLAN or a macvlan the kernel refuses that. Of others it does not: a port of a bond or a bridge whose MTU was set by itself, or the
physical function of a virtual one. What is larger than the smaller of both is dropped without a word.
"""

from hostagent.check import Findings, Step, Unread, UnreadError, check, fail
from hostagent.domains.network.stack import cut
from hostagent.facts.network import Network

from ._rails import Rail, RoceRails


@check(
    title="No interface below a rail's interface has a smaller MTU",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("mtu", "no-path"),
    because=("network.mtu",),
    headline="An interface below that of {device} has MTU {found}, which is too small",
    remedy=(
        Step("configure", "Give the interface below at least that MTU, in the host's network configuration."),
        Step("configure", "Where the network does not carry it, lower the MTU of the one above.", if_back=True),
    ),
    references=("Linux kernel, Documentation/ABI/testing/sysfs-class-net", "Linux kernel, Documentation/networking/bonding"),
    confirm=("ip -d link show",),
)
def mtu_below(roce: RoceRails, network: Network) -> Findings:
    gaps: list[Unread] = []
    for rail in roce.known:
        try:
            yield from _judged(rail, network)
        except UnreadError as error:
            gaps.append(error.unread)
    roce.end(*gaps)


def _judged(rail: Rail, network: Network) -> Findings:
    if pair := cut(network, rail.netdev):
        upper, lower = pair
        text = f"{upper.name} has MTU {upper.mtu}, {lower.name} below it {lower.mtu}"
        yield fail(text, code="smaller", found=lower.mtu, wanted=f">= {upper.mtu}", about=rail.name)
