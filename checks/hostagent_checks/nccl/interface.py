"""Ranks of a job meet at an interface that other hosts do not reach, or find none: NCCL stops, or waits for ever.

Without a setting NCCL takes interfaces whose names begin with ib, then all but docker* and lo, by the kernel's own order: networks of
containers are not left out. NCCL_SOCKET_IFNAME takes its place as a whole: "^docker0" leaves out docker0 and nothing else, and so takes lo.
Names are beginnings of names unless = stands before them, blanks belong to them, and the order of a list means nothing. Where
NCCL_COMM_ID is set, that decides (nccl.comm_id).
"""

from hostagent.check import NOT_APPLICABLE, Finding, Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.nccl.devices import bootstraps
from hostagent.domains.nccl.interfaces import Choice
from hostagent.domains.nccl.name_list import parse_names
from hostagent.domains.network.tables.numbers import is_of_containers
from hostagent.facts.nccl import Nccl
from hostagent.facts.network import Network
from hostagent.profile import Profile

from ._job import Job, job, weight

_IFNAME, _FAMILY = "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY"
_LO = "lo"
_QUOTED = {'"', "'"}
_BRING_UP = Step("configure", "Bring an interface up that the other hosts reach, with an address.", "ip -br addr")

_CORRECT = Step("configure", "Correct NCCL_SOCKET_IFNAME: = and the whole name of an interface.", "ip -br addr")


@check(
    title="Ranks of a job meet at an interface that other hosts reach",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("interface",),
    headline="NCCL takes the interface {found} to meet other hosts",
    remedy=(Step("configure", "Name the right interface in NCCL_SOCKET_IFNAME, with = before its whole name."),),
    references=("NCCL documentation, environment variables: NCCL_SOCKET_IFNAME", "NVIDIA/nccl, src/misc/socket.cc"),
    confirm=("ip -br addr", "grep NCCL_SOCKET /etc/nccl.conf"),
)
def interface(nccl: Nccl, network: Network | Unread, profile: Profile) -> Findings:
    found = job(nccl)
    if "NCCL_COMM_ID" in found.settings:
        skip("NCCL_COMM_ID says where ranks meet")
    here = need(network)
    if isinstance(here.netdevs, Unread) and here.netdevs.why in NOT_APPLICABLE and _takes_lo(found):
        yield _loopback(found, Choice(_LO, "", "ifname"), profile)
    wrong = [_wrong(found, chosen, here, profile) for chosen in bootstraps(here, found.values, found.version())]
    told = [one for one in wrong if one is not None]
    if len(told) == len(wrong):
        yield told[0]
    elif told:  # it depends on an address that nobody knows whose it is
        for one in need(here.netdevs):
            need(one.addresses)


def _takes_lo(found: Job) -> bool:
    """On any host, as an image comes to: lo has an address of IPv4, and comes first."""
    ifname = found.value(_IFNAME)
    return len(ifname) > 1 and parse_names(ifname).takes(_LO) and found.value(_FAMILY) != "AF_INET6"


def _wrong(found: Job, chosen: Choice, network: Network, profile: Profile) -> "Finding | None":
    if not chosen.interface:
        others = {name: value for name, value in found.values.items() if name != _FAMILY}
        return _none(found, bootstraps(network, others, found.version())[0], profile)
    if chosen.interface.partition(":")[0] == _LO:
        return _loopback(found, chosen, profile)
    return _containers(found, chosen, profile) if is_of_containers(chosen.interface) else None


def _none(found: Job, of_any_family: Choice, profile: Profile) -> Finding:
    steps: tuple[Step, ...]
    ifname, family = found.value(_IFNAME), found.value(_FAMILY)
    evidence, headline = found.evidence(_IFNAME, _FAMILY), "NCCL finds no interface for its connections"
    if of_any_family.interface:
        text = f"{of_any_family.interface}, which NCCL would take, has no address of {family}"
        code, steps = "family", (found.without(_FAMILY),)
    elif ifname:
        has_blanks = ifname != ifname.strip() or ", " in ifname
        text = f"no interface that is up and has an address fits {_IFNAME}={ifname}"
        text += ": blanks belong to a name" if has_blanks else ": quotes belong to a name" if _QUOTED & {*ifname} else ""
        code, steps = "blank" if has_blanks else "none", (_CORRECT,)
    else:
        text, code, steps = "no interface is up and has an address", "none", (_BRING_UP,)
    return fail(
        text, code=code, found="none", wanted="an interface", evidence=evidence, headline=headline, remedy=steps, at_most=weight(profile)
    )


def _loopback(found: Job, chosen: Choice, profile: Profile) -> Finding:
    steps: tuple[Step, ...]
    ifname = found.value(_IFNAME)
    if not ifname:
        text, steps = "no other interface is up and has an address", (_BRING_UP,)
    elif ifname.startswith("^"):
        text = f"{_IFNAME}={ifname} leaves out what it names and nothing else: {chosen.interface} is left, and comes first"
        steps = (found.instead(_IFNAME, f"{ifname},lo"), found.without(_IFNAME))
    else:
        text, steps = f"{_IFNAME}={ifname} takes {chosen.interface}", (found.without(_IFNAME),)
    headline = f"NCCL takes {chosen.interface}, which no other host reaches"
    evidence = found.evidence(_IFNAME)
    return fail(
        text,
        code="loopback",
        found=chosen.interface,
        wanted="an interface that other hosts reach",
        evidence=evidence,
        headline=headline,
        remedy=steps,
        at_most=weight(profile),
    )


def _containers(found: Job, chosen: Choice, profile: Profile) -> Finding:
    ifname = found.value(_IFNAME)
    by = f"{_IFNAME}={ifname}" if ifname else "without a setting, NCCL"
    headline = f"NCCL takes {chosen.interface}, an interface of this host's containers"
    return fail(
        f"{by} takes {chosen.interface}, which belongs to containers of this host",
        code="containers",
        found=chosen.interface,
        wanted="an interface that other hosts reach",
        evidence=found.evidence(_IFNAME),
        headline=headline,
        at_most=weight(profile),
    )
