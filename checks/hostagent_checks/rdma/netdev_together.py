"""The container has an RDMA device and not the interface that goes with it, or the interface alone: RoCE works with both or not at all.

A GID belongs to an interface. The CNI plug-in "host-device" moves the interface alone; the shared device plug-in gives the device
alone, and wants a macvlan or ipvlan interface with it, or the host's network. SR-IOV wants the plug-in "rdma" behind "sriov".
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.network.rails import Rails
from hostagent.domains.network.tables.rdma_devices import ETHERNET
from hostagent.facts.network import Network
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic
from hostagent.profile import Profile

from ._rails import each, in_container, is_efa, is_shared, lines, need_no, ports_of

_DRIVER = "mlx5_core"
_ALONE = (
    Step("contact_owner", "Attach a secondary network to the pod, and request its RDMA resource in the same pod."),
    Step("contact_owner", "For SR-IOV, chain the CNI plug-in rdma behind sriov, and set the host's RDMA mode to exclusive."),
)


@check(
    title="The container has each RDMA device together with its interface",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma",),
    headline="The container has {device} without its interface",
    remedy=_ALONE,
    references=("rdma-cni, README", "k8s-rdma-shared-dev-plugin, README"),
    confirm=("ls /sys/class/infiniband /sys/class/net",),
)
def netdev_together(
    ports: tuple[RdmaPort, ...], nics: tuple[Nic, ...], rails: Rails, platform: Platform, network: Network, profile: Profile
) -> Findings:
    alone = () if ports else _interfaces(nics)
    if not ports and not alone:
        skip("no RDMA device is here, and no interface of a card for RDMA")
    if not in_container(platform):
        need(platform.virtual)
        need(platform.contained)
        skip("this is no container")
    if not ports and profile.rdma.required != "no":
        yield from _interface_alone(alone, is_required=profile.rdma.required == "yes")
        return
    everyone = ports_of(rails)
    ours = tuple(port for port in everyone if need(port.link_layer) == ETHERNET and not is_efa(port))
    if not ours:
        skip("no RoCE port carries traffic of jobs")
    here = {one.name for one in need(network.netdevs)}
    names, gaps = each(ours, lambda port: {need(one.netdev) for one in need(port.gids)} | {need(port.netdev)})
    wrong = {name: "no interface of it is here" for name, found in names.items() if not found & here}
    if is_shared(wrong, ours):
        headline = f"The container has {len(ours)} RDMA devices without their interfaces"
        text = f"no interface of the {len(ours)} rails is here"
        yield fail(text, code="no-interfaces", found="none", wanted="their interfaces", evidence=lines(wrong), headline=headline)
    else:
        for name, text in wrong.items():
            yield fail(text, code="no-interface", found="none", wanted="its interface", about=name)
    need_no(gaps, names)


def _interfaces(nics: tuple[Nic, ...]) -> tuple[str, ...]:
    return tuple(name for nic in nics if need(nic.bound_to) == _DRIVER for name in need(nic.netdevs))


def _interface_alone(alone: tuple[str, ...], *, is_required: bool) -> Findings:
    """An interface of such a card can be the pod's ordinary network."""
    headline = "The container has the interface of a card for RDMA without its RDMA device"
    text = f"{', '.join(alone)} without an RDMA device"
    yield fail(
        text, code="no-device", found="none", wanted="its RDMA device", headline=headline, at_most=None if is_required else "warning"
    )
