"""A host with Elastic Fabric Adapters has no plug-in of NCCL for them, or libfabric is told to use another way: jobs run over TCP.

NCCL reaches the adapters through aws-ofi-nccl and libfabric alone; "NET/IB : No device found." is normal there. The plug-in lies in
/opt/amazon/ofi-nccl, where EFA's installer and the images of AWS put it; jobs in containers bring their own. FI_PROVIDER chooses the way of
libfabric: tcp and sockets work everywhere, and slowly.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.nccl.tables.networks import has_libfabric, takes_efa
from hostagent.domains.network.rails import JobRails
from hostagent.facts.nccl import Nccl
from hostagent.profile import Profile

from ._job import are_efa, is_in_images, is_on_path, job, ports_of, weight, with_network

_PROVIDER = "FI_PROVIDER"


@check(
    title="NCCL reaches the Elastic Fabric Adapters of this host",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma", "plug-in"),
    because=("rdma.present", "nccl.net_plugin"),
    headline="NCCL has no plug-in for this host's Elastic Fabric Adapters",
    remedy=(Step("install", "Install aws-ofi-nccl: EFA's installer brings it."),),
    references=("aws-ofi-nccl, README", "AWS, Elastic Fabric Adapter", "libfabric, fi_provider(7)"),
    confirm=("ls /opt/amazon/ofi-nccl/lib", "ldconfig -p  # libnccl-net"),
)
def efa(nccl: Nccl, rails: JobRails, profile: Profile) -> Findings:
    found = job(nccl)
    ours = ports_of(rails)
    plugins = with_network(nccl)
    if (ours and not are_efa(ours)) or (not ours and not any(has_libfabric(need(one.needed)) for one in plugins)):
        skip("jobs use no Elastic Fabric Adapter")
    if not plugins and not is_in_images(nccl):
        yield fail(
            "no plug-in for NCCL's network is there", code="no-plug-in", found="none", wanted="aws-ofi-nccl", at_most=weight(profile)
        )
    elif plugins and not any(is_on_path(one) for one in plugins) and not is_in_images(nccl):
        path = plugins[0].path
        headline = "The loader does not find NCCL's plug-in for the Elastic Fabric Adapters"
        steps = (Step("configure", "Add the plug-in's directory to /etc/ld.so.conf.d, and run ldconfig."),)
        text = f"{path} lies where the loader does not look"
        most = weight(profile) if need(nccl.has_environment) else "info"
        yield fail(text, code="not-found", found=path, wanted="on the loader's path", headline=headline, remedy=steps, at_most=most)
    provider = found.value(_PROVIDER)
    if provider and not takes_efa(provider):
        headline = f"FI_PROVIDER keeps libfabric from the Elastic Fabric Adapters: {provider}"
        text = f"{_PROVIDER}={provider}: libfabric does not use the Elastic Fabric Adapters"
        steps, evidence = (found.without(_PROVIDER),), found.evidence(_PROVIDER)
        yield fail(
            text, code="provider", found=provider, wanted="efa", evidence=evidence, headline=headline, remedy=steps, at_most=weight(profile)
        )
