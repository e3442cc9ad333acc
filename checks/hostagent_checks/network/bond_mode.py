"""A rail is on a bond of a mode that cards do not offload for RoCE.

RDMA goes past the kernel's bond: the card itself has to join its ports, which it does for active-backup (1), balance-xor (2) and 802.3ad
(4) alone. In another mode each port keeps an RDMA device of its own, and none takes over from another that fails.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.gpu import Gpu
from hostagent.facts.network import Network
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.facts.unread import Unread
from hostagent.profile import Profile

from ._bonds import bonds_of_rails

#: Words of the kernel for a mode and its number.
_OFFLOADED = ("active-backup 1", "balance-xor 2", "802.3ad 4")


@check(
    title="The bonds that rails are on have a mode that RoCE can use",
    severity="warning",
    scope="fabric",
    since="0.1",
    headline="The bond below {device} has mode {found}, which RoCE cannot use",
    remedy=(
        Step("configure", "Give the bond mode 802.3ad, and its ports of the switch one group (LACP)."),
        Step("configure", "Or take the ports out of the bond, and give each an address of its own.", if_back=True),
    ),
    references=("Linux kernel, Documentation/networking/bonding", "NVIDIA MLNX_OFED Documentation, RDMA over Converged Ethernet"),
    confirm=("grep . /sys/class/net/*/bonding/mode",),
)
def bond_mode(
    ports: tuple[RdmaPort, ...],
    nics: tuple[Nic, ...],
    gpus: tuple[Gpu, ...],
    topology: Topology | Unread,
    platform: Platform | Unread,
    network: Network,
    profile: Profile,
) -> Findings:
    bonds = bonds_of_rails(ports, nics, gpus, topology, platform, network, profile)
    for name, (bond, rail) in bonds.found.items():
        mode = need(bond.bond_mode)
        if mode not in _OFFLOADED:
            yield fail(f"{name} has mode {mode}", code="mode", found=mode, wanted="802.3ad 4", about=rail)
    bonds.end()
