"""NCCL_NET forces sockets, or a network that this host has not; or it is not set, and NCCL falls back to sockets without a word.

With NCCL_NET=IB, or a plug-in's name, a job ends with an error where RDMA does not work, and does not run at a fraction of its speed.
NCCL_NET=Socket is left over from a search for a fault, mostly. NCCL's own IB uses no Elastic Fabric Adapter: that takes a plug-in.
"""

from hostagent.check import Finding, Findings, Step, check, fail, need, warn
from hostagent.domains.nccl.plugins import is_called, network_of
from hostagent.domains.nccl.tables.networks import IB, OFI_NAMES, SOCKET
from hostagent.domains.network.rails import JobRails
from hostagent.facts.nccl import Nccl
from hostagent.profile import Profile

from ._job import Job, are_efa, is_in_images, job, ports_of, weight, with_network

_NAME = "NCCL_NET"
_SET = (Step("configure", "Set NCCL_NET=IB, or the name of the plug-in, for all jobs."),)
_OFI = Step("configure", "Set NCCL_NET for all jobs to the network that their log names: 'Using network …'.")
_INSTALL = (
    Step("install", "Install the plug-in that NCCL_NET names."),
    Step("configure", "Or take NCCL_NET out of where it stands."),
)


@check(
    title="NCCL_NET names the RDMA network",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma", "forced"),
    because=("rdma.present",),
    headline="NCCL_NET={found} keeps NCCL from RDMA",
    remedy=_SET,
    references=("NCCL documentation, environment variables: NCCL_NET", "NVIDIA/nccl, src/plugin/net.cc"),
    confirm=("grep NCCL_NET /etc/nccl.conf",),
)
def network(nccl: Nccl, rails: JobRails, profile: Profile) -> Findings:
    found = job(nccl)
    ours = ports_of(rails)
    value = found.value(_NAME)
    evidence, name = found.evidence(_NAME), value.casefold()
    if name == SOCKET:
        text = f"{_NAME}={value}: jobs use sockets, whatever RDMA ports the host has"
        steps = (found.without(_NAME),)
        yield fail(text, code="socket", found=value, wanted="an RDMA network", evidence=evidence, remedy=steps, at_most=weight(profile))
    elif name == IB and are_efa(ours):
        text = f"{_NAME}={value}: NCCL's own IB uses no Elastic Fabric Adapter, and jobs end with an error"
        wanted, steps = OFI_NAMES[0], (found.without(_NAME),)
        yield fail(text, code="not-on-efa", found=value, wanted=wanted, evidence=evidence, remedy=steps, at_most=weight(profile))
    elif name and name != IB and not _may_be(value, nccl):
        yield _absent(found, value, profile)
    elif not name and ours:
        is_efa = are_efa(ours)
        wanted = "the name of the plug-in's network" if is_efa else "IB"
        headline = "NCCL_NET is not set: where RDMA fails, jobs go on over sockets without a word"
        text = f"{_NAME} is not set: with it, a job ends with an error where RDMA does not work"
        steps = (_OFI,) if is_efa else _SET
        yield warn(text, code="not-set", found="not set", wanted=wanted, headline=headline, remedy=steps, at_most="info")


def _absent(found: Job, value: str, profile: Profile) -> Finding:
    """What an image brings, nobody sees from its host."""
    is_ours = not is_in_images(found.nccl)
    text = f"{_NAME}={value} is a plug-in's network, and no plug-in of the host brings it: jobs end with an error"
    return fail(
        text if is_ours else f"{text}, unless their images bring it",
        code="no-plug-in",
        found=value,
        wanted="a plug-in",
        evidence=found.evidence(_NAME),
        headline=f"NCCL_NET names the network {value}, and no plug-in of the host brings it",
        remedy=_INSTALL,
        at_most=weight(profile) if is_ours else "info",
    )


def _may_be(name: str, nccl: Nccl) -> bool:
    """Whether a plug-in brings this network: one that is known brings its own alone."""
    networks = [network_of(one.path, need(one.needed)) for one in with_network(nccl)]
    return any(not network or is_called(network, name) for network in networks)
