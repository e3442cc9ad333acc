"""A rail is on a bond of a mode that cards do not offload for RoCE.

RDMA goes past the kernel's bond: the card itself has to join its ports, which it does for active-backup (1), balance-xor (2) and 802.3ad
(4) alone. In another mode each port keeps an RDMA device of its own, and none takes over from another that fails.
"""

from hostagent.check import Findings, Step, check, fail, need

from ._bonds import bonds_of_rails
from ._rails import RoceRails

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
def bond_mode(roce: RoceRails) -> Findings:
    bonds = bonds_of_rails(roce)
    for name, (bond, rail) in bonds.found.items():
        mode = need(bond.bond_mode)
        if mode not in _OFFLOADED:
            policy = bond.hash_policy if isinstance(bond.hash_policy, str) else "unknown"
            lines = (f"mode: {mode}", f"xmit_hash_policy: {policy}")
            yield fail(f"{name} has mode {mode}", code="mode", found=mode, wanted="802.3ad 4", evidence=lines, about=rail)
    bonds.end()
