"""An interface that carries the packets of a rail has a smaller MTU than the rail's own interface.

Of a VLAN or a macvlan the kernel refuses that. Of others it does not: a port of a bond or a bridge whose MTU was set by itself, or the
physical function of a virtual one. What is larger than the smaller of both is dropped without a word.
"""

from hostagent.check import Findings, Step, check, fail
from hostagent.derived.stack import cut
from hostagent.facts.gpu import Gpu
from hostagent.facts.network import Network
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.facts.unread import Unread, UnreadError
from hostagent.profile import Profile

from ._rails import Rail, roce_ports, with_netdevs


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
def mtu_below(
    ports: tuple[RdmaPort, ...],
    nics: tuple[Nic, ...],
    gpus: tuple[Gpu, ...],
    topology: Topology | Unread,
    platform: Platform | Unread,
    network: Network,
    profile: Profile,
) -> Findings:
    rails = with_netdevs(roce_ports(ports, nics, gpus, topology, platform, profile), network)
    gaps: list[Unread] = []
    for rail in rails.known:
        try:
            yield from _judged(rail, network)
        except UnreadError as error:
            gaps.append(error.unread)
    rails.end(*gaps)


def _judged(rail: Rail, network: Network) -> Findings:
    if pair := cut(network, rail.netdev):
        upper, lower = pair
        text = f"{upper.name} has MTU {upper.mtu}, {lower.name} below it {lower.mtu}"
        yield fail(text, code="smaller", found=lower.mtu, wanted=f">= {upper.mtu}", about=rail.name)
