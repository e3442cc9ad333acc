"""The board has fewer GPUs or NVSwitches than it was built with: one has lost its power or its seat, or it is broken.

An HGX board has eight GPUs and the switches of its generation, HGX-2 sixteen on two boards. A virtual machine with switches has one
of the sets that NVIDIA documents for the board; seven of eight GPUs are none. What all GPUs have lost shows only here and in
`nvswitch.links`. GPUs that are reserved for virtual machines count: they are on PCI.
"""

from hostagent.check import Findings, Step, Unread, check, counted, fail
from hostagent.core.tables.recovery_actions import POWER_CYCLE
from hostagent.facts.gpu import Gpu
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.platform import Platform

from ._board import find_board, sets

#: A virtual machine has what it was given.
_ASSIGN = (Step("contact_owner", "Ask who runs this virtual machine to give it a whole board, or a documented part."),)


@check(
    title="The board has all its GPUs and NVSwitches",
    severity="critical",
    since="0.1",
    explains=("nvlink",),
    order=20,  # beside gpu.present: the cause of what other families find
    headline="The board has only {found}",
    remedy=(
        POWER_CYCLE,
        Step("replace", "Have the board serviced.", if_back=True),
    ),
    references=(
        "NVIDIA Fabric Manager User Guide, sections GPU Baseboard Topologies and Supported Virtual Machine Configurations",
        "gpu-operator issue 2511",
    ),
    confirm=(
        "lspci -D -d 10de:",
        "nvidia-smi -L",
    ),
)
def board(fabric: Fabric, gpus: tuple[Gpu, ...], platform: Platform) -> Findings:
    found = find_board(fabric, gpus, platform)
    if not sets(found, platform):
        switched = bool(found.board.switch)
        wanted = " or ".join(_parts(one.gpus, one.switches, switched) for one in found.board.whole)
        there = _parts(len(found.gpus), found.switches, switched)
        code = "incomplete" if (len(found.gpus), found.switches) < max((one.gpus, one.switches) for one in found.board.whole) else "other"
        is_guest = not isinstance(platform.virtual, Unread) and bool(platform.virtual)
        headline = f"The {found.board.name} board has only {there}" if code == "incomplete" else f"The {found.board.name} board has {there}"
        text = f"the {found.board.name} board has {there}, but it is built with {wanted}"
        yield fail(text, code=code, found=there, wanted=wanted, headline=headline, remedy=_ASSIGN if is_guest else ())


def _parts(gpus: int, switches: int, switched: bool) -> str:
    return counted(gpus, "GPU") + (f" and {counted(switches, 'NVSwitch')}" if switched else "")
