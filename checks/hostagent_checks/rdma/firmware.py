"""Rails of one board have different firmware: worth knowing when one of them misbehaves.

Cards that were replaced, and updates that were done in parts, leave it; hosts work so. Vendors support one version over a cluster.
"""

from hostagent.check import Findings, Step, check, most, need, skip, warn
from hostagent.domains.network.rails import Rails

from ._rails import each, need_no, ports_of


@check(
    title="RDMA ports of one board have one firmware",
    severity="info",
    scope="fabric",
    since="0.1",
    headline="{device} has firmware {found}, its like have {wanted}",
    remedy=(Step("install", "Bring all cards of this board to one firmware at the next maintenance."),),
    references=("Linux kernel, Documentation/ABI/stable/sysfs-class-infiniband",),
    confirm=("grep . /sys/class/infiniband/*/board_id /sys/class/infiniband/*/fw_ver",),
)
def firmware(rails: Rails) -> Findings:
    ours = ports_of(rails)
    found, gaps = each(ours, lambda port: (need(port.board_id), need(port.firmware)))
    boards = {board for board, _ in found.values() if board}
    if found and not boards and not gaps:
        skip("the cards name no board")
    for board in sorted(boards):
        usual = most(version for own, version in found.values() if own == board)
        for name, (own, version) in found.items():
            if own == board and version != usual:
                text = f"firmware {version}, others of board {board} have {usual}"
                yield warn(text, code="differs", found=version, wanted=usual, about=name)
    need_no(gaps, found)
