"""The board that a host's GPUs sit on, and what it was built with."""

from typing import NamedTuple

from hostagent.check import need, skip
from hostagent.core.tables.nvlink_fabric import BOARDS, Board, Set, has_hidden_switches, is_on
from hostagent.facts.gpu import Gpu
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.platform import Platform


class Found(NamedTuple):
    """A board, and what of it PCI shows."""

    board: Board
    gpus: tuple[Gpu, ...]
    switches: int


def has_board(fabric: Fabric, gpus: tuple[Gpu, ...]) -> bool:
    """Whether NVSwitches are here, on PCI or behind bridges, or GPUs of a board that has some."""
    return bool(need(fabric.nvswitches)) or any(has_hidden_switches(need(gpu.device_id)) for gpu in gpus)


def find_board(fabric: Fabric, gpus: tuple[Gpu, ...], platform: Platform) -> Found:
    """The board; the check does not apply where there is none, or one of a kind that is not known.

    PCI shows the NVSwitches of some. Of the others a host has the GPUs, and a virtual machine that has the whole board its bridges too.
    """
    there = [gpu for gpu in gpus if need(gpu.on_pci)]
    kinds = [need(switch.device_id) for switch in need(fabric.nvswitches)]
    for board in BOARDS:
        own = tuple(gpu for gpu in there if is_on(board, need(gpu.device_id)))
        if board.switch in kinds:
            return Found(board, own, kinds.count(board.switch))
        if not board.switch and not kinds and own and (not need(platform.virtual) or need(fabric.nvlink5_managers)):
            return Found(board, own, 0)
    return skip("this host has no known board with NVSwitches")


def sets(found: Found, platform: Platform) -> tuple[Set, ...]:
    """What the GPUs and switches that are there may be: all of the board, in a virtual machine also a part that NVIDIA documents."""
    whole = tuple(one for one in found.board.whole if _fits(one, found))
    if whole or not found.board.assigned:
        return whole
    return tuple(one for one in found.board.assigned if _fits(one, found)) if need(platform.virtual) else ()


def _fits(one: Set, found: Found) -> bool:
    return (one.gpus, one.switches) == (len(found.gpus), found.switches)
