"""The board has fewer GPUs or NVSwitches than it was built with: one has lost its power or its seat, or it is broken.

An HGX board has eight GPUs and the switches of its generation, HGX-2 sixteen on two boards. A virtual machine with switches has one
of the sets that NVIDIA documents for the board; seven of eight GPUs are none. What all GPUs have lost shows only here and in
`nvswitch.links`. GPUs that are reserved for virtual machines count: they are on PCI.
"""

from hostagent.check import Findings, Step, check, fail
from hostagent.facts.gpu import Gpu
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.platform import Platform

from ._board import find_board, sets


@check(
    title="The board has all GPUs and NVSwitches that it was built with",
    severity="critical",
    since="0.1",
    order=20,  # beside gpu.present: the cause of what other families find
    headline="The board has lost parts: found {found}, built with {wanted}",
    remedy=(
        Step("power_cycle", "Switch the chassis off and on. In a virtual machine, ask who gave it the GPUs and switches."),
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
        wanted = " or ".join(f"{one.gpus} GPUs{f' and {one.switches} NVSwitches' if switched else ''}" for one in found.board.whole)
        there = f"{len(found.gpus)} GPUs{f' and {found.switches} NVSwitches' if switched else ''}"
        code = "incomplete" if (len(found.gpus), found.switches) < max((one.gpus, one.switches) for one in found.board.whole) else "other"
        yield fail(f"{found.board.name}: {there}, built with {wanted}", code=code, found=there, wanted=wanted)
