"""A RoCE port that jobs use has no RoCE v2 GID of an address: nobody can reach it through a router, and NCCL takes one that does not work.

The kernel makes these GIDs out of the addresses of the port's interface. Without an address there are only link-local ones and those
of RoCE v1, which no router forwards. NCCL from 2.21 on looks for an IPv4 address; one of IPv6 it takes only where it is told to.
"""

from hostagent.check import Findings, Step, Unread, check, counted, fail, need, shell, skip, warn
from hostagent.domains.network.gids import chosen, is_ipv4, is_routable
from hostagent.domains.network.rails import Rails
from hostagent.domains.network.tables.rdma_devices import ETHERNET
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort

from ._rails import each, in_container, is_efa, is_shared, lines, need_no, ports_of

_ADDRESS = "Give the interface of each rail an IPv4 address, in the host's network configuration."
_AWAY = "away"
_V6 = (
    Step("configure", "Set NCCL_IB_ADDR_FAMILY=AF_INET6 in all jobs, or give the interfaces IPv4 addresses."),
    Step("configure", "On NCCL before 2.21, set NCCL_IB_GID_INDEX to the index of that GID."),
)


@check(
    title="The RoCE ports that jobs use have a RoCE v2 GID of an address",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("gid", "no-path"),
    because=("rdma.netdev_together", "rdma.port_state"),
    headline="{device} has no RoCE v2 GID of an address",
    remedy=(Step("configure", _ADDRESS),),
    references=(
        "NCCL documentation, environment variables: NCCL_IB_GID_INDEX",
        "Linux kernel, Documentation/ABI/stable/sysfs-class-infiniband",
    ),
    confirm=("grep . /sys/class/infiniband/*/ports/*/gids/[0-9] /sys/class/infiniband/*/ports/*/gid_attrs/types/[0-9] 2>/dev/null",),
)
def gid(rails: Rails, platform: Platform | Unread) -> Findings:
    everyone = ports_of(rails)
    ours = tuple(port for port in everyone if need(port.link_layer) == ETHERNET and not is_efa(port))
    if not ours:
        skip("no RoCE port carries traffic of jobs")
    answers, gaps = each(ours, lambda port: _answer(port, platform))
    if answers and not gaps and set(answers.values()) == {_AWAY}:
        skip("the interfaces of the RoCE ports are in other network namespaces")
    none = {name: text for name, text in answers.items() if text.startswith("no ")}
    if is_shared(none, ours):
        headline = f"None of the {len(ours)} RoCE ports that jobs use has a RoCE v2 GID of an address"
        text = f"none of the {len(ours)} rails has a RoCE v2 GID of an address"
        yield fail(text, code="none-of-all", found="none", wanted="RoCE v2 of an address", evidence=lines(none), headline=headline)
    else:
        for port in (one for one in ours if one.name in none):
            found = none[port.name]
            yield fail(found, code="none", found=found, wanted="RoCE v2 of an address", about=port.name, remedy=_steps(port))
    if sixes := {name: text for name, text in answers.items() if text.startswith("GID ")}:
        many = counted(len(sixes), "RoCE port")
        headline = f"NCCL takes a GID that no router forwards: {many} with addresses of IPv6 alone"
        text = f"the only RoCE v2 GIDs of an address are of IPv6: {many}"
        yield warn(text, code="ipv6", found="IPv6", wanted="IPv4", evidence=lines(sixes), headline=headline, remedy=_V6, at_most="warning")
    need_no(gaps, answers)


def _answer(port: RdmaPort, platform: Platform | Unread) -> str:
    """What is wrong, "" where a job gets one. An interface that was given to a pod took its GIDs along."""
    gids = need(port.gids)
    routable = [one for one in gids if is_routable(one)]
    if not routable:
        is_away = not need(port.netdev) and not in_container(platform)
        return _AWAY if is_away else f"no RoCE v2 GID of an address among {len(gids)}"
    taken = chosen(port)
    is_taken = not isinstance(taken, Unread) and is_routable(taken)
    return "" if is_taken or any(is_ipv4(one) for one in routable) else f"GID {routable[0].index}: {routable[0].value}"


def _steps(port: RdmaPort) -> tuple[Step, ...]:
    name = need(port.netdev)
    if not name:
        return ()
    return (
        Step("configure", f"Give {name} an IPv4 address, in the host's network configuration."),
        Step("configure", "See whether the kernel has made a GID of it.", shell("ip addr show dev {}", name)),
    )
