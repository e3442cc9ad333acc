"""The host has fewer GPUs than it should have, or none that jobs can use.

What the PCI bus shows counts, so a GPU that the driver cannot use still counts here: `gpu.count_agrees` names that
one. A GPU missing from PCI has lost its power or its seat, or its riser or switch is broken. GPUs of other vendors are
named and not checked. A host has none if all of them are reserved for virtual machines (vfio-pci), or if the driver is told to leave
them alone. `nvswitch.board` checks whether a board has all that it was built with.
"""

from hostagent.check import Findings, Step, check, fail, need, skip, warn
from hostagent.facts.gpu import Accelerators, Gpu
from hostagent.facts.unread import Unread
from hostagent.profile import Profile

from ._judged import VFIO

_FOR_JOBS = (
    "Ask who gave the GPUs to virtual machines, and run hostagent in these machines. A host that has no GPU for jobs of its own (Proxmox, "
    "Harvester) needs neither driver nor toolkit: send it no GPU jobs, and change nothing."
)


@check(
    title="The host has the GPUs that the profile wants",
    severity="critical",
    part="gpus",
    since="0.1",
    order=20,  # before kernel and driver, whose findings may follow from it
    headline="This host does not have the GPUs that the profile wants",
    remedy=(
        Step(
            "power_cycle",
            "Look for the missing GPU with 'lspci -d 10de:' and in the kernel log; switch the chassis off and on, then reseat the GPU.",
        ),
        Step("configure", "If this host is not meant to have a GPU, set 'gpus.required: false' in its profile."),
    ),
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci",),
    confirm=(
        "lspci -k -d 10de:",
        "nvidia-smi -L",
    ),
)
def present(gpus: tuple[Gpu, ...], accelerators: Accelerators, profile: Profile) -> Findings:
    wanted = profile.gpus
    there = [gpu for gpu in gpus if need(gpu.on_pci)]
    found = len(there)
    if not found and not wanted.required:
        skip("no NVIDIA GPU, and the profile requires none")
    if not found:
        others = accelerators.others
        named = "" if isinstance(others, Unread) else ", ".join(f"{one.vendor_id}:{one.device_id} at {one.pci}" for one in others)
        text = f"no NVIDIA GPU, but {named}, which is not judged" if named else "no NVIDIA GPU"
        yield fail(f"{text}, profile wants {wanted.count or 'one'}", code="none", found=0, wanted=wanted.count or "at least 1")
    elif wanted.required and not any(_for_jobs(gpu) for gpu in there) and all(_held_back(gpu) for gpu in there):
        text = f"none of {found} GPUs is for jobs: virtual machines have them, or the driver leaves them alone"
        yield fail(text, code="none-judged", found=0, wanted=wanted.count or "at least 1", remedy=_FOR_JOBS, action="configure")
    elif found < wanted.count:
        yield fail(f"{found} GPUs on PCI, profile wants {wanted.count}", code="too-few", found=found, wanted=wanted.count)
    elif wanted.count and found > wanted.count:
        yield warn(f"{found} GPUs on PCI, profile wants {wanted.count}", code="too-many", found=found, wanted=wanted.count)


def _for_jobs(gpu: Gpu) -> bool:
    """Nothing that was read holds it back."""
    excluded = not isinstance(gpu.excluded, Unread) and gpu.excluded
    return not isinstance(gpu.bound_to, Unread) and gpu.bound_to != VFIO and not excluded


def _held_back(gpu: Gpu) -> bool:
    return need(gpu.bound_to) == VFIO or need(gpu.excluded)
