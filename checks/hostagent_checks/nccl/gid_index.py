"""NCCL takes a GID that does not work: NCCL_IB_GID_INDEX names another slot than that of the port's address, or NCCL is old.

From 2.21 on NCCL finds the GID of each port by itself. NCCL_IB_GID_INDEX=3, which many guides name, is one slot for all ports of all hosts:
where interfaces have VLANs, a second address or another order it is empty, RoCE v1 or link-local, and connections fail. Up to 2.20
index 0 is taken where nothing is set, which is RoCE v1 or link-local as a rule.
"""

from hostagent.check import NOT_APPLICABLE, Finding, Findings, Step, Unread, UnreadError, check, fail, need, skip, warn
from hostagent.domains.nccl.tables.changes import finds_gids
from hostagent.domains.network.gids import Asked, at_index, chosen_as, chosen_before_2_21, is_ipv4, is_link_local
from hostagent.domains.network.rails import JobRails
from hostagent.domains.network.tables.rdma_devices import ROCE_V2
from hostagent.facts.nccl import Nccl
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import Gid, RdmaPort
from hostagent.profile import Profile

from ._job import Job, job, weight
from ._ports import roce

_INDEX, _VERSION = "NCCL_IB_GID_INDEX", "NCCL_IB_ROCE_VERSION_NUM"
_ASKED = ("NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", _VERSION)
_UPDATE = Step("configure", "Use NCCL 2.21 or newer in jobs: it finds each port's GID by itself.")


@check(
    title="NCCL takes a GID of an address on each RoCE port",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("gid", "no-path"),
    because=("rdma.gid", "rdma.port_state"),
    headline="NCCL takes a GID that does not work: {found}",
    remedy=(Step("configure", "Take NCCL_IB_GID_INDEX out."), _UPDATE),
    references=("NCCL documentation, environment variables: NCCL_IB_GID_INDEX",),
    confirm=("grep . /sys/class/infiniband/*/ports/*/gid_attrs/types/[0-9] 2>/dev/null", "grep -n NCCL_IB_ /etc/nccl.conf"),
)
def gid_index(nccl: Nccl, rails: JobRails, platform: Platform | Unread, profile: Profile) -> Findings:
    host = job(nccl)
    ours = roce(rails)
    if finds_gids(host.version()) and not _is_pinned(host) and not any(map(host.value, _ASKED)):
        skip("NCCL finds each port's GID by itself")
    wrong: dict[str, str] = {}
    away: dict[str, str] = {}
    gaps: list[Unread] = []
    for port in ours:
        try:
            if text := _fault(_taken(host, port)):
                is_away = not need(port.netdev) and not _in_container(platform)
                (away if is_away else wrong)[port.name] = text
        except UnreadError as error:
            gaps.append(error.unread)
    if wrong:
        yield _finding(host, wrong, profile)
    for gap in gaps:
        need(gap)
    if len(away) == len(ours):
        skip("the interfaces of the RoCE ports are in other network namespaces")
    if not wrong and _is_pinned(host) and finds_gids(host.version()):
        index = host.number(_INDEX)
        text = f"{_INDEX}={index} is right on all {len(ours)} ports, until a VLAN or a second address moves their GIDs"
        headline = f"{_INDEX}={index} holds for as long as no GID moves"
        evidence, steps = host.evidence(_INDEX), (host.without(_INDEX),)
        yield warn(text, code="set", found=index, wanted="unset", evidence=evidence, headline=headline, remedy=steps, at_most="info")


def _in_container(platform: Platform | Unread) -> bool:
    """Else an interface that is not here was given to a pod, and took its GIDs along."""
    return not isinstance(platform, Unread) and platform.in_container


def _taken(host: Job, port: RdmaPort) -> "Gid | Unread":
    """The GID that a job takes of this port; absent of an empty slot."""
    index = host.number(_INDEX)
    is_old = not finds_gids(host.version())
    if index is not None and (is_old or index >= 0):
        return at_index(port, index)
    if is_old:
        return chosen_before_2_21(port)
    return chosen_as(port, Asked(host.value(_ASKED[0]) == "AF_INET6", host.value(_ASKED[1]), host.number(_VERSION) in (None, 2)))


def _is_pinned(host: Job) -> bool:
    index = host.number(_INDEX)
    return index is not None and index >= 0


def _fault(gid: "Gid | Unread") -> str:
    if isinstance(gid, Unread):
        return gid.detail if gid.why in NOT_APPLICABLE else need(gid)
    if is_link_local(gid):
        return f"GID {gid.index} is link-local"
    return "" if need(gid.type) == ROCE_V2 else f"GID {gid.index} is {need(gid.type)}{'' if is_ipv4(gid) else ' of no IPv4 address'}"


def _finding(host: Job, wrong: dict[str, str], profile: Profile) -> Finding:
    """RoCE v1 works between hosts of one segment: it ends no job where all of them take it."""
    lines = tuple(f"{name}: {text}" for name, text in wrong.items())
    first = next(iter(lines))
    set_ = next((name for name in (_INDEX, *_ASKED) if host.value(name)), "")
    only_v1 = all(" v1" in text for text in wrong.values())
    return fail(
        f"{len(wrong)} ports give NCCL a GID that other hosts cannot reach: {first}",
        code="wrong" if set_ else "old",
        found=first,
        wanted="RoCE v2 of an address",
        evidence=(*host.evidence(_INDEX, *_ASKED), *lines),
        remedy=(host.without(set_), _UPDATE) if set_ and not finds_gids(host.version()) else (host.without(set_),) if set_ else (_UPDATE,),
        at_most="warning" if only_v1 else weight(profile),
    )
