"""The interfaces of the RoCE ports that jobs use do not all have one MTU.

The MTU of RDMA connections follows from the interface's. A port that differs from the others of its host differs from those of other
hosts, too: what one end sends and a switch or the other end does not take is dropped, and jobs stall or end with retries exceeded. No
value is right by itself: 1500 works, 4200 gives the largest active MTU of 4096, 9000 is a custom. What counts is that all agree, and
that the switches carry it. By itself hostagent takes what most rails have; the profile may name a value. With two ports alone, of which one
may serve storage, it is a warning, unless rdma.hcas says that these are the rails.
"""

from hostagent.check import Findings, Severity, Step, Unread, UnreadError, check, fail, most, need, shell
from hostagent.profile import Profile

from ._rails import Rail, RoceRails

#: Ports of one card: which of them jobs use is open.
_PAIR = 2
_NAME_THEM = Step("configure", "If one of them is not for jobs, name those that are in rdma.hcas of the profile.", if_back=True)


@check(
    title="The interfaces of the RoCE ports that jobs use have one MTU",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("mtu", "no-path"),
    because=("rdma.port_state",),
    headline="The interface of {device} has MTU {found}, not {wanted}",
    remedy=(
        Step("configure", "Give the interfaces of all rails one MTU, in the host's network configuration."),
        Step("configure", "Give the switches' ports the same or more, on both ends of each path."),
    ),
    references=("Linux kernel, include/rdma/ib_addr.h", "Linux kernel, Documentation/ABI/testing/sysfs-class-net"),
    confirm=("ip link show",),
)
def mtu(roce: RoceRails, profile: Profile) -> Findings:
    found: list[tuple[Rail, int]] = []
    gaps: list[Unread] = []
    for rail in roce.known:
        try:
            found.append((rail, need(rail.netdev.mtu)))
        except UnreadError as error:
            gaps.append(error.unread)
    asked = profile.rdma.netdev_mtu
    wanted = asked or most(value for _, value in found) or 0
    odd = [(rail, value) for rail, value in found if value != wanted]
    is_open = not asked and not profile.rdma.hcas and len(found) == _PAIR
    weight: Severity | None = "warning" if is_open else None
    if len(odd) == len(roce.known) > 1:
        values = sorted({value for _, value in odd})
        text = f"the interfaces of all {len(odd)} rails have MTU {' or '.join(map(str, values))}, the profile wants {wanted}"
        headline = f"The interfaces of the rails have MTU {' or '.join(map(str, values))}, not {wanted}"
        lines = tuple(f"{rail.netdev.name} of {rail.name}: {value}" for rail, value in odd)
        yield fail(text, code="all-profile", found=values, wanted=wanted, evidence=lines, headline=headline)
    else:
        for rail, value in odd:
            by = "the profile wants" if asked else "the other rails have"
            text = f"{rail.netdev.name} has MTU {value}, {by} {wanted}"
            steps = (*_steps(rail.netdev.name, wanted), *((_NAME_THEM,) if is_open else ()))
            code = "profile" if asked else "differs"
            yield fail(text, code=code, found=value, wanted=wanted, about=rail.name, remedy=steps, at_most=weight)
    roce.end(*gaps)


def _steps(name: str, wanted: int) -> tuple[Step, ...]:
    return (
        Step("configure", f"Give {name[:15]} MTU {wanted} in the host's network configuration."),
        Step("configure", "Until the next boot, set it now.", command=shell("ip link set dev {} mtu {}", name, str(wanted))),
        Step("configure", "Give the switch's port the same or more.", if_back=True),
    )
