"""The GPU's PCIe link has fewer lanes than the GPU can use: copies from and to the host are slower.

The width does not depend on load. Where all GPUs of a kind have the same narrow link, the slots are wired that way, and
nothing is wrong; one GPU with fewer lanes than its peers has a bad seat, riser or contact. A GPU without a peer warns,
but not in a virtual machine, where nobody can reach the slot.
"""

from hostagent.check import Findings, Step, check, counted, fail, need, skip, warn
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform

from ._judged import skip_of_virtual_machine
from ._peers import alike, need_all, told

#: What registers of no or of a dead link read as: `gpu.on_bus` judges those.
_NO_WIDTH = (0, 63, 255)


@check(
    title="The GPU's PCIe link has its full width",
    severity="warning",
    since="0.1",
    because=("gpu.on_bus",),
    headline="The PCIe link of {device} has fewer lanes than it should",
    remedy=(
        Step("replace", "Power the node off, and reseat the GPU or its riser."),
        Step("replace", "Compare the slot's wiring with the board's manual.", if_back=True),
    ),
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci, current_link_width",),
    confirm=(
        "lspci -vv -s <address> | grep -E 'LnkCap|LnkSta'",
        "nvidia-smi --query-gpu=pci.bus_id,pcie.link.width.current,pcie.link.width.max --format=csv",
    ),
)
def pcie_width(gpu: Gpu, gpus: tuple[Gpu, ...], platform: Platform) -> Findings:
    width, most = need(gpu.link_width), need(gpu.link_width_max)
    if width in _NO_WIDTH or most in _NO_WIDTH:
        skip(f"the link reports no width ({width} of {most})")
    if width >= most:
        return
    widths = [one.link_width for one in alike(gpu, gpus)]
    peers = [one for one in told(widths) if one not in _NO_WIDTH]
    if any(peer > width for peer in peers):
        skip_of_virtual_machine(gpu)
        yield fail(
            f"the link has {counted(width, 'lane')}, its peers' links have {max(peers)}",
            code="fewer-than-peers",
            found=width,
            wanted=max(peers),
        )
        return
    need_all(widths)  # what was lost may be wider
    if not peers:
        if need(platform.virtual) == "vm":
            skip(f"{width} of {most} lanes, but the slot belongs to the machine below this virtual one")
        skip_of_virtual_machine(gpu)
        yield warn(f"the link has {counted(width, 'lane')}, the GPU can use {most}", code="narrow", found=width, wanted=most)
