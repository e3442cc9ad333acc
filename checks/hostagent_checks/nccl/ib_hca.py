"""NCCL_IB_HCA takes no RDMA port that works, or others than those that are meant: jobs use sockets, or ports that lead elsewhere.

Without = each entry is the beginning of a name: mlx5_1 takes mlx5_10 to mlx5_19, too. Ports that are not active are left out without a
word. NCCL connects no InfiniBand port to one of Ethernet, so one storage card in the list can stop a job. A list that takes what NCCL takes
without one, as NCCL_IB_HCA=mlx5, weighs less: it changes nothing. What this host should use are the rails: what the profile names in
rdma.hcas, else the ports that are nearest to the GPUs.
"""

from hostagent.check import Finding, Findings, Severity, Step, Unread, check, fail, need, skip, warn
from hostagent.domains.nccl.devices import hcas
from hostagent.domains.nccl.hca_list import HcaList, parse_hcas
from hostagent.domains.network.rails import JobRails
from hostagent.facts.nccl import Nccl
from hostagent.facts.rdma import RdmaPort
from hostagent.profile import Profile

from ._job import Job, are_efa, job, ports_of, weight

_NAME = "NCCL_IB_HCA"
_ACTIVE = "ACTIVE"
_SHORT = 40
_QUOTED = {'"', "'"}


@check(
    title="NCCL_IB_HCA takes the RDMA ports of this host that jobs should use",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma", "no-path"),
    because=("rdma.present", "rdma.hcas", "rdma.port_state", "rdma.subnet_manager"),
    headline="NCCL_IB_HCA takes other RDMA ports than those for jobs: {found}",
    remedy=(Step("configure", "Write NCCL_IB_HCA with = and the whole names of the ports that jobs should use."),),
    references=("NCCL documentation, environment variables: NCCL_IB_HCA",),
    confirm=("rdma link show", "grep NCCL_IB_HCA /etc/nccl.conf"),
)
def ib_hca(nccl: Nccl, ports: tuple[RdmaPort, ...] | Unread, rails: JobRails, profile: Profile) -> Findings:
    found = job(nccl)
    if not found.value(_NAME):
        return
    ours = ports_of(rails)
    if are_efa(ours):
        skip("NCCL's own IB uses no Elastic Fabric Adapter")
    every = need(ports)
    wanted = parse_hcas(found.value(_NAME), found.version())
    taken = hcas(every, found.value(_NAME), found.version())
    yield from (
        _none(found, every, taken, ours, profile)
        or _inactive(found, wanted, every, ours, profile)
        or _mixed(found, every, taken, ours, profile)
        or _prefix(found, wanted, taken)
        or _others(found, every, taken, ours)
        or _missing(found, wanted, every, ours)
        or _left_out(found, taken, ours)
    )


def _none(
    found: Job, every: tuple[RdmaPort, ...], taken: tuple[RdmaPort, ...], ours: tuple[RdmaPort, ...], profile: Profile
) -> list[Finding]:
    if taken:
        return []
    evidence = (*found.evidence(_NAME), *(f"{one.name}: {need(one.state)}" for one in every))
    headline = "NCCL_IB_HCA takes no RDMA port that is active: jobs use sockets"
    text = f"{_NAME}={found.value(_NAME)} takes no port that is active"
    text += ": quotes belong to a name" if _QUOTED & {*found.value(_NAME)} else ""
    steps = _steps(found, ours)
    wanted = _exact(ours)
    return [
        fail(text, code="none", found="none", wanted=wanted, evidence=evidence, headline=headline, remedy=steps, at_most=weight(profile))
    ]


def _inactive(found: Job, wanted: HcaList, every: tuple[RdmaPort, ...], ours: tuple[RdmaPort, ...], profile: Profile) -> list[Finding]:
    """Those that are named, not those that a beginning of a name takes."""
    if wanted.excludes:
        return []
    dead = [
        one
        for one in every
        if any(entry[0] == one.device and wanted.is_match(entry, one.device, one.number) for entry in wanted.entries)
        and need(one.state) != _ACTIVE
        and not any(other.device == one.device and need(other.state) == _ACTIVE for other in every)
    ]
    if not dead:
        return []
    names = ", ".join(one.name for one in dead)
    headline = f"NCCL_IB_HCA names RDMA ports that are not active: {names}"
    text = f"{_NAME} names {names}, which NCCL leaves out without a word"
    evidence = (*found.evidence(_NAME), *(f"{one.name}: {need(one.state)}" for one in dead))
    steps = (Step("drain_and_inspect", "Find out why the port is down.", "rdma link show"), *_steps(found, ours))
    return [
        fail(
            text, code="inactive", found=names, wanted="active", evidence=evidence, headline=headline, remedy=steps, at_most=weight(profile)
        )
    ]


def _mixed(
    found: Job, every: tuple[RdmaPort, ...], taken: tuple[RdmaPort, ...], ours: tuple[RdmaPort, ...], profile: Profile
) -> list[Finding]:
    layers = {one.name: need(one.link_layer) for one in taken}
    kinds = " and ".join(sorted(set(layers.values())))
    if len(set(layers.values())) < 2:
        return []
    evidence = (*found.evidence(_NAME), *(f"{name}: {layer}" for name, layer in layers.items()))
    names = {one.name for one in ours}
    odd = ", ".join(name for name in layers if name not in names)
    headline = f"NCCL_IB_HCA mixes {kinds}" + (f": it takes {odd}, too" if ours and odd else "")
    text = f"{_NAME} takes ports of {kinds}, which do not connect to each other"
    steps = _steps(found, ours)
    wanted = _exact(ours)
    at_most: Severity | None = "warning" if _is_as_without(found, every, taken) else weight(profile)
    return [fail(text, code="mixed", found=kinds, wanted=wanted, evidence=evidence, headline=headline, remedy=steps, at_most=at_most)]


def _prefix(found: Job, wanted: HcaList, taken: tuple[RdmaPort, ...]) -> list[Finding]:
    """A whole name that is the beginning of another's, which nobody named."""
    named = {name for name, _ in wanted.entries}
    whole = [one.device for one in taken if one.device in named]
    more = [one.name for one in taken if one.device not in named and one.device.startswith(tuple(whole))] if whole else []
    if not more:
        return []
    listed = ", ".join(more)
    meant = _exact(tuple(one for one in taken if one.name not in more))
    headline = f"NCCL_IB_HCA takes more RDMA ports than it names: {listed}"
    text = f"{_NAME} takes {listed}, too: without = a name is the beginning of names"
    steps, evidence = (_instead(found, meant),), found.evidence(_NAME)
    return [warn(text, code="prefix", found=listed, wanted=meant, evidence=evidence, headline=headline, remedy=steps)]


def _others(found: Job, every: tuple[RdmaPort, ...], taken: tuple[RdmaPort, ...], ours: tuple[RdmaPort, ...]) -> list[Finding]:
    names = {one.name for one in ours}
    others = [one.name for one in taken if one.name not in names] if ours else []
    if not others:
        return []
    listed = ", ".join(others)
    text = f"{_NAME} takes {listed}, which carry no traffic of jobs"
    evidence, steps = found.evidence(_NAME), _steps(found, ours)
    at_most: Severity | None = "info" if _is_as_without(found, every, taken) else None
    return [warn(text, code="others", found=listed, wanted=_exact(ours), evidence=evidence, remedy=steps, at_most=at_most)]


def _is_as_without(found: Job, every: tuple[RdmaPort, ...], taken: tuple[RdmaPort, ...]) -> bool:
    """The list takes what NCCL takes without one, and makes nothing worse."""
    return {one.name for one in taken} == {one.name for one in hcas(every, "", found.version())}


def _missing(found: Job, wanted: HcaList, every: tuple[RdmaPort, ...], ours: tuple[RdmaPort, ...]) -> list[Finding]:
    if wanted.excludes:
        return []
    lost = [name for name, port in wanted.entries if not any(wanted.is_match((name, port), one.device, one.number) for one in every)]
    if not lost:
        return []
    listed = ", ".join(lost)
    headline = f"NCCL_IB_HCA names RDMA ports that this host does not have: {listed}"
    text = f"{_NAME} names {listed}, which NCCL leaves out without a word"
    return [
        warn(
            text,
            code="missing",
            found="not there",
            wanted=listed,
            evidence=found.evidence(_NAME),
            headline=headline,
            remedy=_steps(found, ours),
        )
    ]


def _left_out(found: Job, taken: tuple[RdmaPort, ...], ours: tuple[RdmaPort, ...]) -> list[Finding]:
    names = {one.name for one in taken}
    left = [one.name for one in ours if one.name not in names and need(one.state) == _ACTIVE]
    if not left:
        return []
    listed = ", ".join(left)
    headline = f"NCCL_IB_HCA leaves {len(left)} of {len(ours)} RDMA ports out that jobs could use"
    text = f"{_NAME} leaves {len(left)} of {len(ours)} rails out"
    evidence, steps = found.evidence(_NAME), _steps(found, ours)
    return [
        warn(text, code="left-out", found=listed, wanted=_exact(ours), evidence=evidence, headline=headline, remedy=steps, at_most="info")
    ]


def _exact(ours: tuple[RdmaPort, ...]) -> str:
    return "=" + ",".join(one.name for one in ours) if ours else "ports that are active"


def _steps(found: Job, ours: tuple[RdmaPort, ...]) -> tuple[Step, ...]:
    return (_instead(found, _exact(ours)) if ours else found.without(_NAME),)


def _instead(found: Job, wanted: str) -> Step:
    """What is too long for a step stands in the finding's `wanted`."""
    short = len(wanted) <= _SHORT
    return found.instead(_NAME, wanted) if short else Step("configure", "Write = and the whole names of the ports in NCCL_IB_HCA.")
