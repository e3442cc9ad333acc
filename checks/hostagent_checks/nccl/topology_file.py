"""A file of the topology or of the graph that NCCL is told to read is not there: it goes on without, and says so in a log that few read.

In a virtual machine that shows no PCIe switches all cards are as far from each GPU without that file: rails are mixed up and GPUDirect RDMA
stays off. Where jobs run in containers the file has to be in the container, at the same path. What is in the file is not read.
"""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.nccl.settings import ENVIRONMENT
from hostagent.facts.nccl import Nccl
from hostagent.facts.platform import Platform
from hostagent.profile import Profile

from ._job import job, weight

_TOPOLOGY, _GRAPH = "NCCL_TOPO_FILE", "NCCL_GRAPH_FILE"
#: What a plug-in hands to its own process.
_OPEN_FILE = "/proc/self/"


@check(
    title="The topology and graph files that NCCL is told to read are there",
    severity="critical",
    scope="fabric",
    since="0.1",
    headline="NCCL is told to read {found}, which is not there",
    remedy=(Step("configure", "Put the file there, on all hosts and in images, or take the setting out."),),
    references=("NCCL documentation, environment variables: NCCL_TOPO_FILE", "NVIDIA/nccl, src/graph/xml.cc"),
    confirm=("grep -nE 'TOPO_FILE|GRAPH_FILE' /etc/nccl.conf",),
)
def topology_file(nccl: Nccl, platform: Platform | Unread, profile: Profile) -> Findings:
    host = job(nccl)
    named = [name for name in (_TOPOLOGY, _GRAPH) if host.value(name).startswith("/") and not host.value(name).startswith(_OPEN_FILE)]
    if not named:
        skip("no setting names the path of such a file")
    there = need(nccl.files)
    for name in named:
        path = host.value(name)
        if path in there:
            continue
        needs_it = name == _TOPOLOGY and _is_machine(platform)
        text = f"{name} is {path}, which is not there{': the machine shows no PCIe switches by itself' if needs_it else ''}"
        is_of_host = host.settings[name].origin != ENVIRONMENT  # a job's environment may be that of a container, with files of its own
        limit, steps = weight(profile) if needs_it and is_of_host else "warning", (_put(name), _or(host.without(name)))
        yield fail(text, code="missing", found=path, wanted="there", evidence=host.evidence(name), remedy=steps, at_most=limit)


def _put(name: str) -> Step:
    return Step("configure", f"Put the file of {name} there, on all hosts and in images.")


def _or(step: Step) -> Step:
    return Step(step.action, f"Or {step.text[:1].lower()}{step.text[1:]}")


def _is_machine(platform: Platform | Unread) -> bool:
    """Of an image nobody knows."""
    virtual = platform if isinstance(platform, Unread) else platform.virtual
    return False if isinstance(virtual, Unread) and virtual.why in NOT_APPLICABLE else need(virtual) == "vm"
