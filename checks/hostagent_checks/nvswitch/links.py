"""NVLinks of a GPU on a board with NVSwitches are down: traffic between GPUs is slower, goes over PCIe, or CUDA does not start.

Each GPU of a board has the links of its product, all of them up; a part of a board in a virtual machine has those that NVIDIA
documents. Links that MIG or an option of the driver switched off are no fault, nor are those of a board of which virtual machines
have some GPUs: their partition says which are up. `gpu.nvlink_active` compares the GPUs of hosts without such a board.
"""

from typing import NamedTuple

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, skip
from hostagent.core.tables.nvlink_fabric import LINKS_OF, LINKS_OFF
from hostagent.core.tables.recovery_actions import RESET_ALL
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu, Mig
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.platform import Platform

from ._board import find_board, sets


class _Links(NamedTuple):
    which: str
    up: int
    wanted: int


@check(
    title="All NVLinks of the board's GPUs are up",
    severity="critical",
    since="0.1",
    explains=("nvlink",),
    because=("nvswitch.board",),
    headline="NVLinks of the board's GPUs are down",
    remedy=(
        RESET_ALL,
        Step("replace", "Have the board serviced.", if_back=True),
    ),
    references=("NVIDIA Fabric Manager User Guide, GPU Baseboard Topologies", "NVIDIA NVML API Reference, nvmlDeviceGetNvLinkState"),
    confirm=(
        "nvidia-smi nvlink -s",
        "journalctl -b -u nvidia-fabricmanager.service",
    ),
)
def links(fabric: Fabric, gpus: tuple[Gpu, ...], platform: Platform, driver: Driver) -> Findings:
    found = find_board(fabric, gpus, platform)
    if any(not isinstance(gpu.bound_to, Unread) and gpu.bound_to == "vfio-pci" for gpu in found.gpus):
        skip("virtual machines use GPUs of this board")
    here = sets(found, platform) or found.board.whole
    known = [one for one in (_links(gpu, max(row.links for row in here)) for gpu in found.gpus) if one]
    if not known:  # nobody may ask about any GPU, or each has MIG
        for gpu in found.gpus:
            if not _has_mig(gpu):
                need(gpu.nvlinks)
    down = [one for one in known if one.up < one.wanted]
    if down and (option := _switched_off(driver)):
        skip(f"the driver's option {option} switches links off")
    if len(down) == len(found.gpus) and len({(one.up, one.wanted) for one in down}) == 1:
        down = [down[0]._replace(which=f"each of the {len(down)} GPUs")]
    for one in down:
        yield fail(f"{one.which} has {one.up} NVLinks up, and should have {one.wanted}", code="down", found=one.up, wanted=one.wanted)


def _links(gpu: Gpu, most: int) -> "_Links | None":
    """None for a GPU with MIG, and for one that NVML does not list, which `gpu.count_agrees` reports."""
    is_lacking = isinstance(gpu.nvlinks, Unread) and gpu.nvlinks.why in NOT_APPLICABLE
    if is_lacking or _has_mig(gpu):
        return None
    return _Links(gpu.pci, sum(need(link.active) for link in need(gpu.nvlinks)), min(most, LINKS_OF.get(need(gpu.device_id), 1)))


def _has_mig(gpu: Gpu) -> bool:
    return isinstance(gpu.mig, Mig) and bool(gpu.mig.current)


def _switched_off(driver: Driver) -> str:
    """The name of the loaded module's option that does it, "" for none."""
    if isinstance(driver.parameters, Unread):
        return ""
    return next((name for name, value in driver.parameters if any(name == known and mark in value for known, mark in LINKS_OFF)), "")
