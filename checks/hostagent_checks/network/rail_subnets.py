"""Several rails have addresses in one IP subnet, and the kernel answers for each of them on any.

By itself Linux answers an ARP request for any of its addresses on every interface that hears it, so that other hosts learn the address of
one rail with the hardware address of another: connections then use the wrong port, or end with a timeout of ibv_modify_qp (110). Either
each rail gets a subnet of its own, or the kernel is told to answer on the right interface alone: arp_ignore of at least 1, or arp_filter
with a routing table per rail, and arp_announce 2. A strict rp_filter drops requests whose answer would leave by another interface; where
rules of routing send each address out by its own port it does no harm, and those are not read here.
"""

from hostagent.check import Finding, Findings, Step, Unread, UnreadError, check, fail, need, shell
from hostagent.domains.driver.boot import write_line
from hostagent.domains.network.stack import subnet_of, written

from ._rails import Rail, RoceRails

#: Values of ip-sysctl: answer for addresses of this interface alone; announce such addresses alone; a reverse path that is strict.
_IGNORE, _ANNOUNCE, _STRICT = 1, 2, 1
_FILE = "/etc/sysctl.d/90-rails.conf"


@check(
    title="Rails in one IP subnet answer for their own addresses alone",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("gid", "no-path"),
    headline="Rails in one IP subnet answer for each other's addresses",
    remedy=(
        Step("configure", "Give each rail a subnet of its own; or set the two sysctls, on all hosts alike."),
        Step(
            "configure",
            "Answer for an interface's own addresses at each boot.",
            command=write_line(_FILE, "net.ipv4.conf.all.arp_ignore = 1"),
        ),
        Step("configure", "Announce them alone.", command=shell("echo {} >> {}", "net.ipv4.conf.all.arp_announce = 2", _FILE)),
        Step("configure", "Take both over now.", command=f"sysctl -p {_FILE}"),
    ),
    references=("Linux kernel, Documentation/networking/ip-sysctl",),
    confirm=("ip addr show", "sysctl -ar 'net.ipv4.conf.*.(arp_ignore|arp_announce|rp_filter)'"),
)
def rail_subnets(roce: RoceRails) -> Findings:
    by_subnet: dict[tuple[int, int], dict[str, Rail]] = {}
    gaps: list[Unread] = []
    for rail in roce.known:
        try:
            for subnet in filter(None, map(subnet_of, need(rail.netdev.addresses))):
                by_subnet.setdefault(subnet, {})[rail.netdev.name] = rail
        except UnreadError as error:
            gaps.append(error.unread)
    for subnet, inside in sorted(by_subnet.items()):
        if len(inside) > 1:
            try:
                yield from _judged(written(subnet), inside)
            except UnreadError as error:
                gaps.append(error.unread)
    roce.end(*gaps)


def _judged(subnet: str, inside: dict[str, Rail]) -> Findings:
    wrong: dict[str, str] = {}
    strict: list[str] = []
    for name, rail in inside.items():
        netdev = rail.netdev
        answers = need(netdev.arp_ignore) < _IGNORE and not need(netdev.arp_filter)
        if answers or need(netdev.arp_announce) < _ANNOUNCE:
            wrong[name] = f"arp_ignore {netdev.arp_ignore}, arp_announce {netdev.arp_announce}"
        elif need(netdev.rp_filter) == _STRICT:
            strict.append(name)
    if wrong:
        lines = tuple(f"{name} of {inside[name].name}: {text}" for name, text in wrong.items())
        text = f"{len(inside)} rails are in {subnet}: {next(iter(wrong.values()))}"
        yield fail(
            text, code="answers-for-others", found=next(iter(wrong.values())), wanted="arp_ignore >= 1, arp_announce 2", evidence=lines
        )
    elif strict:
        yield _strict(subnet, len(inside), strict)


def _strict(subnet: str, rails: int, names: list[str]) -> Finding:
    return fail(
        f"{rails} rails are in {subnet}, and rp_filter is strict",
        code="strict",
        found="rp_filter 1",
        wanted="0 or 2",
        evidence=tuple(f"{name}: rp_filter 1" for name in names),
        headline="Rails in one IP subnet have a strict reverse path filter",
        remedy=(
            Step("configure", "See that rules of routing send each rail's address out by its own port."),
            Step("configure", "Else set rp_filter to 2 on all rails.", command="sysctl -w net.ipv4.conf.all.rp_filter=2", if_back=True),
        ),
        at_most="info",
    )
