"""The ports that jobs use are not all InfiniBand or all Ethernet: NCCL connects none of one kind to one of the other.

By itself hostagent takes the ports that are nearest to the GPUs and share their kind, so a mixture comes from what the profile names
in rdma.hcas, as the same list in NCCL_IB_HCA would bring it. Cards of the storage network are the usual cause.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.network.rails import Rails
from hostagent.profile import Profile

from ._rails import each, is_shared, lines, need_no, ports_of

_STEPS = (
    Step("configure", "Set the port's type with mlxconfig (LINK_TYPE_P1), and reboot the node."),
    Step("configure", "If the network is of the other kind, correct rdma.link_layer in the profile.", if_back=True),
)


@check(
    title="The RDMA ports that jobs use are of one kind",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma",),
    headline="{device} is {found}, not {wanted}",
    remedy=(
        Step("configure", "Leave the ports of the other kind out of rdma.hcas in the profile and of NCCL_IB_HCA."),
        Step("configure", "If they are to be alike, set the port's type with mlxconfig (LINK_TYPE_P1).", if_back=True),
    ),
    references=("NCCL documentation, environment variables: NCCL_IB_HCA", "Linux kernel, Documentation/ABI/stable/sysfs-class-infiniband"),
    confirm=("grep . /sys/class/infiniband/*/ports/*/link_layer",),
)
def link_layer(rails: Rails, profile: Profile) -> Findings:
    ours = ports_of(rails)
    layers, gaps = each(ours, lambda port: need(port.link_layer))
    asked = profile.rdma.link_layer
    if asked != "any":
        wrong = {name: layer for name, layer in layers.items() if layer != asked}
        if is_shared(wrong, ours):
            found = " and ".join(sorted(set(wrong.values())))
            headline = f"The RDMA ports that jobs use are {found}, the profile wants {asked}"
            text = f"all {len(ours)} rails are {found}, the profile wants {asked}"
            yield fail(text, code="all-profile", found=found, wanted=asked, evidence=lines(wrong), headline=headline, remedy=_STEPS)
        else:
            for name, layer in wrong.items():
                text = f"the port is {layer}, the profile wants {asked}"
                yield fail(text, code="profile", found=layer, wanted=asked, about=name, remedy=_STEPS)
    elif len(set(layers.values())) > 1:
        kinds = " and ".join(sorted(set(layers.values())))
        headline = f"The RDMA ports that jobs use are a mixture: {kinds}"
        text = f"the rails are {kinds}"
        yield fail(text, code="mixed", found=kinds, wanted="one kind", evidence=lines(layers), headline=headline)
    need_no(gaps, layers)
