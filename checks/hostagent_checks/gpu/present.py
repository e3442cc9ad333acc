"""The host has fewer GPUs than the profile asks for, or none that jobs can use.

What the PCI bus shows counts, so a GPU that the driver cannot use still counts here: `gpu.count_agrees` names that
one. A GPU missing from PCI has lost its power or its seat, or its riser or switch is broken. GPUs of other vendors are
named and not checked. A host has none if all of them are reserved for virtual machines (vfio-pci), or if the driver is told to leave
them alone. `nvswitch.board` checks whether a board has all that it was built with.
"""

from hostagent.check import Findings, Step, Unread, check, counted, fail, first_of, need, skip, warn
from hostagent.core.tables.recovery_actions import POWER_CYCLE
from hostagent.facts.gpu import Accelerators, Gpu
from hostagent.facts.platform import Platform
from hostagent.profile import Profile

from ._judged import VFIO

_FOR_MACHINES = (
    Step("configure", "If the GPUs are for virtual machines, send no GPU jobs to this host."),
    Step("configure", "If they are not, ask who gave the GPUs to virtual machines or excluded them."),
)
_NOT_MEANT = Step("configure", "If this host is not meant to have a GPU, set 'gpus.required: false' in its profile.")
_ATTACH = Step("contact_owner", "Ask who runs the machine below this one to give it the GPUs.")
_FIND = (
    Step("drain_and_inspect", "Find out which GPU is missing: these are there.", "lspci -d 10de:"),
    POWER_CYCLE,
    Step("replace", "Have the missing GPU, its riser and its power reseated.", if_back=True),
)


@check(
    title="The host has the GPUs that the profile asks for",
    severity="critical",
    part="gpus",
    since="0.1",
    order=20,  # before kernel and driver, whose findings may follow from it
    headline="This host does not have the GPUs that the profile asks for",
    remedy=(
        _NOT_MEANT,
        Step("configure", "If it is, have the GPU reseated, or attached to this virtual machine."),
    ),
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci",),
    confirm=(
        "lspci -k -d 10de:",
        "nvidia-smi -L",
    ),
)
def present(gpus: tuple[Gpu, ...], accelerators: Accelerators, platform: Platform | Unread, profile: Profile) -> Findings:
    wanted = profile.gpus
    there = [gpu for gpu in gpus if need(gpu.on_pci)]
    found = len(there)
    if not found and not wanted.required:
        skip("there is no NVIDIA GPU, and the profile requires none")
    if not found:
        others = accelerators.others
        named = () if isinstance(others, Unread) else tuple(f"{one.vendor_id}:{one.device_id} at {one.pci}" for one in others)
        text = f"PCI shows no NVIDIA GPU{f', only others, which are not checked: {first_of(named)}' if named else ''}"
        yield fail(text, code="none", found=0, wanted=wanted.count or "at least 1")
    elif wanted.required and not any(_for_jobs(gpu) for gpu in there) and all(_held_back(gpu) for gpu in there):
        text = f"jobs can use none of {counted(found, 'GPU')}: virtual machines have them, or a driver option excludes them"
        headline = "Jobs can use no GPU of this host"
        yield fail(text, code="none-judged", found=0, wanted=wanted.count or "at least 1", remedy=_FOR_MACHINES, headline=headline)
    elif found < wanted.count:
        text, headline = (
            f"PCI shows {counted(found, 'GPU')}, the profile asks for {wanted.count}",
            f"This host has {found} of {wanted.count} GPUs",
        )
        steps = (_ATTACH,) if _is_guest(platform) else _FIND
        yield fail(text, code="too-few", found=found, wanted=wanted.count, headline=headline, remedy=steps)
    elif wanted.count and found > wanted.count:
        steps = (Step("configure", f"If all of them are meant, set 'gpus.count: {found}' in the profile."),)
        text = f"PCI shows {counted(found, 'GPU')}, the profile asks for {wanted.count}"
        headline = "This host has more GPUs than the profile asks for"
        yield warn(text, code="too-many", found=found, wanted=wanted.count, remedy=steps, headline=headline)


def _is_guest(platform: Platform | Unread) -> bool:
    return not isinstance(platform, Unread) and not isinstance(platform.virtual, Unread) and bool(platform.virtual)


def _for_jobs(gpu: Gpu) -> bool:
    """Nothing that was read holds it back."""
    excluded = not isinstance(gpu.excluded, Unread) and gpu.excluded
    return not isinstance(gpu.bound_to, Unread) and gpu.bound_to != VFIO and not excluded


def _held_back(gpu: Gpu) -> bool:
    return need(gpu.bound_to) == VFIO or need(gpu.excluded)
