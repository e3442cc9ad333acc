"""NCCL_IB_DISABLE=1 is left over: NCCL uses no RDMA port, and jobs run over sockets without a word.

It concerns NCCL's own IB alone. nccl-rdma-sharp-plugins (IBext, of HPC-X) have a switch of their own, NCCL_IBEXT_DISABLE: with a plug-in
for RDMA in place, NCCL_IB_DISABLE=1 changes nothing until the plug-in fails. The Elastic Fabric Adapter never needs NCCL's own IB.
"""

from hostagent.check import Findings, Step, check, fail, need, warn
from hostagent.domains.nccl.tables.networks import has_ib
from hostagent.domains.network.rails import JobRails
from hostagent.facts.nccl import Nccl
from hostagent.profile import Profile

from ._job import are_efa, job, ports_of, weight, with_network

_IB, _IBEXT = "NCCL_IB_DISABLE", "NCCL_IBEXT_DISABLE"


@check(
    title="NCCL may use InfiniBand and RoCE",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma", "forced"),
    because=("rdma.present",),
    headline="NCCL_IB_DISABLE keeps NCCL from RDMA",
    remedy=(Step("configure", "Take NCCL_IB_DISABLE out of where it stands."),),
    references=("NCCL documentation, environment variables: NCCL_IB_DISABLE",),
    confirm=("grep NCCL_IB /etc/nccl.conf",),
)
def ib_disable(nccl: Nccl, rails: JobRails, profile: Profile) -> Findings:
    found = job(nccl)
    if not found.number(_IB) and not found.number(_IBEXT):
        return
    if are_efa(ports_of(rails)):
        return
    evidence = found.evidence(_IB, _IBEXT)
    plugins = tuple(one for one in with_network(nccl) if has_ib(need(one.needed)))
    if not found.number(_IB):
        headline, text = "NCCL_IBEXT_DISABLE turns a plug-in for RDMA off", f"{_IBEXT} turns the plug-in off, NCCL's own IB is used instead"
        steps = (found.without(_IBEXT),)
        if plugins:
            yield warn(text, code="plug-in", found="1", wanted="0", evidence=evidence, headline=headline, remedy=steps, at_most="info")
    elif plugins and not found.number(_IBEXT):
        headline = "NCCL_IB_DISABLE has no effect while a plug-in for RDMA is there"
        text = f"{_IB} turns NCCL's own IB off, not {plugins[0].path}: without the plug-in jobs would use sockets"
        steps = (found.without(_IB),)
        yield warn(text, code="no-effect", found="1", wanted="0", evidence=evidence, headline=headline, remedy=steps)
    else:
        text = f"{_IB}={found.value(_IB)}: NCCL uses no RDMA port"
        steps = (found.without(_IB), *((found.without(_IBEXT),) if plugins else ()))
        yield fail(text, code="disabled", found="1", wanted="0", evidence=evidence, remedy=steps, at_most=weight(profile))
