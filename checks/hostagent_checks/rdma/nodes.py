"""The file below /dev/infiniband is missing by which programs open the RDMA device: jobs say "No device found" and use TCP.

On a host the module ib_uverbs makes it. In a container it is there if the pod asked for the RDMA resource, or the container was
started with the device. NCCL opens uverbs alone; rdma_cm is for storage, UCX and NVSHMEM.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.domains.network.rails import Rails
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import Rdma

from ._rails import each, in_container, is_efa, is_shared, lines, need_no, ports_of

_LOAD = (
    Step("configure", "Load the module that makes the devices, now.", "modprobe ib_uverbs"),
    Step("configure", "See whether udev has made them; if not, install rdma-core.", "ls /dev/infiniband", if_back=True),
)
_POD = (
    Step("contact_owner", "Request the RDMA resource of the device plug-in in the pod (rdma/… or nvidia.com/…)."),
    Step("contact_owner", "Without a device plug-in, start the container with --device=/dev/infiniband."),
)
_CM = "rdma_cm"


@check(
    title="The RDMA devices that jobs use can be opened",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma",),
    part="rdma",
    headline="{device} cannot be opened: its file below /dev/infiniband is missing",
    remedy=_LOAD,
    references=("NCCL documentation, troubleshooting: RDMA in containers", "Linux kernel, Documentation/infiniband/user_verbs"),
    confirm=("ls -l /dev/infiniband",),
)
def nodes(rails: Rails, rdma: Rdma, platform: Platform | Unread) -> Findings:
    ours = ports_of(rails)
    there = need(rdma.nodes)
    names, gaps = each(ours, lambda port: need(port.node))
    is_container = in_container(platform)
    remedy = _POD if is_container else _LOAD
    wrong = {name: f"no /dev/infiniband/{node or 'uverbs'}" for name, node in names.items() if not node or node not in there}
    if is_shared(wrong, ours):
        headline = f"None of the {len(ours)} RDMA devices can be opened: /dev/infiniband lacks their files"
        text = "no RDMA device has its file below /dev/infiniband"
        yield fail(text, code="none", found="none", wanted=len(ours), evidence=lines(wrong), headline=headline, remedy=remedy)
    else:
        for name, text in wrong.items():
            yield fail(text, code="missing", found=text, wanted="its file", about=name, remedy=remedy)
    if is_container and not wrong and _CM not in there and not all(is_efa(port) for port in ours):
        headline = "The container has no /dev/infiniband/rdma_cm: storage, UCX and NVSHMEM may want it"
        yield fail("no /dev/infiniband/rdma_cm", code="no-rdma-cm", wanted=_CM, headline=headline, remedy=_POD, at_most="info")
    need_no(gaps, names)
