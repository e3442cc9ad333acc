"""The host has fewer GPUs than a ready host has, or none.

Counted is what the PCI bus shows, so a GPU that the driver cannot use still counts here: `gpu.count_agrees` names that
one. A GPU missing from PCI has lost its power or its seat, or its riser or switch is broken. GPUs of other vendors are
named and not judged.
"""

from hostagent.check import Findings, check, fail, need, skip, warn
from hostagent.facts.gpu import Accelerators, Gpu
from hostagent.facts.unread import Unread
from hostagent.profile import Profile


@check(
    title="The host has the GPUs that the profile wants",
    severity="critical",
    since="0.1",
    order=20,  # before kernel and driver, whose findings may follow from it
    remedy="Look for the missing GPU with 'lspci -d 10de:' and in the kernel log; power-cycle the node, then reseat the GPU. "
    "A host that needs no GPU wants a profile with gpus.required: false.",
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci",),
)
def present(gpus: tuple[Gpu, ...], accelerators: Accelerators, profile: Profile) -> Findings:
    wanted = profile.gpus
    found = sum(need(gpu.on_pci) for gpu in gpus)
    if not found and not wanted.required:
        skip("no NVIDIA GPU, and the profile requires none")
    if not found:
        others = accelerators.others
        named = "" if isinstance(others, Unread) else ", ".join(f"{one.vendor_id}:{one.device_id} at {one.pci}" for one in others)
        text = f"no NVIDIA GPU, but {named}, which is not judged" if named else "no NVIDIA GPU"
        yield fail(f"{text}, profile wants {wanted.count or 'one'}", code="none", found=0, wanted=wanted.count or "at least 1")
    elif found < wanted.count:
        yield fail(f"{found} GPUs on PCI, profile wants {wanted.count}", code="too-few", found=found, wanted=wanted.count)
    elif wanted.count and found > wanted.count:
        yield warn(f"{found} GPUs on PCI, profile wants {wanted.count}", code="too-many", found=found, wanted=wanted.count)
