"""Open or proprietary: as the profile sets, else the flavour that supports every judged GPU."""

from hostagent.core.steps import Step
from hostagent.core.tables.pci import LAST_BRANCH, Flavour, architecture, flavours, is_display_card
from hostagent.core.unread import NOT_APPLICABLE, Unread, need
from hostagent.facts.gpu import Gpu
from hostagent.plan.driver import renamed
from hostagent.plan.driver.situation import host_of
from hostagent.plan.model import Given, Refusal
from hostagent.plan.refusals.words import profile_step, refusal, several
from hostagent.plan.view import View

_BOTH: "tuple[Flavour, ...]" = ("open", "proprietary")


def judged_gpus(view: View, branch: str) -> tuple[Gpu, ...]:
    """The GPUs that the driver has to drive: none of a virtual machine's, and no old display card beside others. () for an image.

    Raises ``UnreadError``.
    """
    if isinstance(view.gpus, Unread) and view.gpus.why in NOT_APPLICABLE:
        return ()
    here = [one for one in need(view.gpus) if _bound_to(one) != "vfio-pci"]
    others = tuple(one for one in here if not _is_for_a_screen(one, branch))
    return others or tuple(here)


def wanted_flavour(given: Given, branch: str) -> "Flavour | Refusal":
    """Raises ``UnreadError``."""
    asked = given.profile.driver.flavour
    if asked == "any":
        asked = renamed.flavour(host_of(given.view), given.asked.renamed) or asked
    gpus = judged_gpus(given.view, branch)
    if too_old := [one for one in gpus if _is_too_old(one, branch)]:
        return _too_old(too_old, branch)
    able = {one.pci: _able(given, one) for one in gpus}
    unknown = [one for one in gpus if not able[one.pci]]
    if unknown and asked == "any":
        return _unknown(unknown)
    common = [one for one in _BOTH if all(one in known for known in able.values() if known)]
    if "coherent" in given.asked.extras:
        common = [one for one in common if one == "open"]
    if asked != "any":
        return asked if asked in common else _invalid(gpus, asked)
    return common[0] if common else _invalid(gpus, "one flavour")


def leaves_out_a_screen(view: View, branch: str) -> bool:
    """Whether an old display card is no GPU for jobs here, because another one is. Raises ``UnreadError``."""
    if isinstance(view.gpus, Unread):
        return False
    judged = judged_gpus(view, branch)
    return any(one not in judged and _is_for_a_screen(one, branch) for one in view.gpus)


def can_stay(given: Given, branch: str, flavour: str) -> bool:
    """Whether a module of this flavour is what the profile asks for, and drives every judged GPU that is known. Raises ``UnreadError``."""
    asked = given.profile.driver.flavour
    gpus = judged_gpus(given.view, branch)
    if any(_is_too_old(one, branch) for one in gpus):
        return False
    able = [_able(given, one) for one in gpus]
    return flavour in ("", asked if asked != "any" else flavour) and all(flavour in known for known in able if known and flavour)


def _able(given: Given, gpu: Gpu) -> "tuple[Flavour, ...]":
    """Flavours by its PCI id; for an unknown one the flavour that serves it now."""
    known = flavours(need(gpu.device_id))
    if known or gpu.in_nvml is not True:
        return known
    loaded = need(need(given.view.driver).flavour)
    return tuple(one for one in _BOTH if one == loaded)


def _is_too_old(gpu: Gpu, branch: str) -> bool:
    """Whether the branch is later than the last one that supports it, in either flavour."""
    last = LAST_BRANCH.get(architecture(need(gpu.device_id)))
    return last is not None and branch.isdecimal() and int(branch) > last


def _bound_to(gpu: Gpu) -> str:
    """Its driver; a GPU with an unread one is judged."""
    return "" if isinstance(gpu.bound_to, Unread) else gpu.bound_to


def _is_for_a_screen(gpu: Gpu, branch: str) -> bool:
    version = f"{branch}.0"
    if isinstance(gpu.device_id, Unread) or isinstance(gpu.vga, Unread):
        return False
    return is_display_card(gpu.device_id, _bound_to(gpu), version, "open", vga=gpu.vga) and is_display_card(
        gpu.device_id, _bound_to(gpu), version, "proprietary", vga=gpu.vga
    )


def _named(gpus: "tuple[Gpu, ...] | list[Gpu]") -> str:
    return several([f"{one.pci} ({architecture(need(one.device_id)) or need(one.device_id)})" for one in gpus], 6)


def _unknown(gpus: list[Gpu]) -> Refusal:
    return refusal(
        "flavour-unknown",
        "No flavour of the kernel module is known for a GPU",
        _named(gpus),
        "GPUs that this release knows",
        profile_step("Say it in the profile: 'driver: {flavour: open}', or proprietary."),
    )


def _invalid(gpus: "tuple[Gpu, ...] | list[Gpu]", flavour: str) -> Refusal:
    return refusal(
        "flavour-invalid",
        "One kernel module cannot drive all GPUs of this host",
        _named(gpus) or "an image for coherent GPUs",
        f"GPUs that the {flavour} module drives" if flavour in _BOTH else "GPUs that one flavour of the module drives",
        profile_step("Take the flavour that the GPUs need: 'driver: {flavour: any}' in the profile."),
        Step("replace", "Or take the GPUs that need the other flavour out of this host.", if_back=True),
    )


def _too_old(gpus: list[Gpu], branch: str) -> Refusal:
    last = min(LAST_BRANCH[architecture(need(one.device_id))] for one in gpus)
    return refusal(
        "flavour-invalid",
        f"Branch {branch} of the driver cannot drive a GPU of this host",
        _named(gpus),
        f"branch {last} or older",
        profile_step(f"Ask for the last branch that has them: 'driver: {{install: \"{last}\"}}' in the profile."),
    )
