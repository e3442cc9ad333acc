"""RDMA devices belong to one network namespace each, and the shared device plug-in gives pods devices that they then cannot see.

In the mode "exclusive" a pod sees an RDMA device if it was moved into the pod, as the CNI plug-in "rdma" does with virtual functions.
The shared RDMA device plug-in (resources rdma/…) needs the mode "shared", which is the kernel's own. On a host with virtual functions, and
in a pod that has its device, the mode is as it should be.
"""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, skip
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import Rdma
from hostagent.facts.topology import Nic

from ._rails import in_container

_SHARED_PLUG_IN = "rdma/"
_EXCLUSIVE = "exclusive"


@check(
    title="Pods see the RDMA devices that the device plug-in gives them",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma",),
    headline="Pods do not see the RDMA devices that the shared device plug-in gives them",
    remedy=(
        Step("configure", "Set the mode to shared while no pod has an RDMA device.", "rdma system set netns shared"),
        Step("configure", "Set it at each boot: 'options ib_core netns_mode=1' in a file of /etc/modprobe.d."),
    ),
    references=("rdma-system(8)", "k8s-rdma-shared-dev-plugin, README", "rdma-cni, README"),
    confirm=("rdma system show",),
)
def netns_mode(rdma: Rdma, nics: tuple[Nic, ...] | Unread, kubelet: Kubelet | Unread, platform: Platform | Unread) -> Findings:
    if not need(rdma.devices):
        skip("the host has no RDMA device")
    mode = need(rdma.netns_mode)
    if mode != _EXCLUSIVE or in_container(platform):
        return
    shared = sorted({one for one in _resources(kubelet) if one.startswith(_SHARED_PLUG_IN)})
    if shared:
        text = f"the mode is {mode}, and the shared device plug-in gives {', '.join(shared)} to pods"
        yield fail(text, code="shared-plug-in", found=mode, wanted="shared")
    elif not any(need(nic.virtual_of) for nic in need(nics)):
        headline = "RDMA devices are seen in one network namespace alone: pods need the CNI plug-in rdma"
        text = f"the mode is {mode}: pods and containers with a network of their own see no RDMA device"
        yield fail(text, code="exclusive", found=mode, wanted="shared", headline=headline, at_most="info")


def _resources(kubelet: Kubelet | Unread) -> tuple[str, ...]:
    """What plug-ins have registered; a host without a kubelet has none."""
    if isinstance(kubelet, Unread) and kubelet.why in NOT_APPLICABLE:
        return ()
    given = need(kubelet).given
    if isinstance(given, Unread) and given.why in NOT_APPLICABLE:
        return ()
    return tuple(one.resource for one in need(need(given).devices))
