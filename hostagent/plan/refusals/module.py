"""The kernel module: in use, or not accepted by Secure Boot."""

from collections.abc import Iterator

from hostagent.facts.unread import Unread, need
from hostagent.plan.driver.loaded import must_exchange, users
from hostagent.plan.model import Choices, Given, Refusal
from hostagent.plan.refusals.words import refusal, several, unread
from hostagent.steps import Step


def of_use(given: Given, choices: Choices) -> Iterator[Refusal]:
    """A module that must be exchanged and that somebody holds. ``--in-use`` installs it for the next boot. Raises ``UnreadError``."""
    if given.view.kind == "image" or not choices.driver.wanted or given.asked.in_use:
        return
    if not must_exchange(given.view, choices.driver):
        return
    steps = (
        Step("drain_and_inspect", "Drain the node, and end what uses its GPUs."),
        Step("rerun", "Or install for the next boot; nothing is unloaded then.", "hostagent install --in-use"),
    )
    found = users(given.view)
    if isinstance(found, Unread):
        yield unread(found, "who uses the GPUs")
    elif found:
        named = tuple(f"{one.program} (pid {one.pid}) with {one.device}" for one in found)
        yield refusal("gpu-in-use", "Programs use the GPUs of this host", several(named), "nobody", *steps)


def of_secure_boot(given: Given, choices: Choices) -> Iterator[Refusal]:
    """DKMS signs with a key of the host's: without one that the firmware knows no kernel loads what it builds. Raises ``UnreadError``."""
    if not choices.driver.wanted or choices.driver.delivery != "dkms" or given.view.kind == "image":
        return
    kernel = need(given.view.kernel)
    states = [one for one in (kernel.secure_boot, kernel.module_signatures_enforced) if one is not False]
    if not states:
        return
    if True not in [one for one in states if not isinstance(one, Unread)]:
        for state in states:
            if isinstance(state, Unread):
                yield unread(state, "Secure Boot")
                return
    keys = need(need(given.view.installation).enrolled_keys)
    if not keys:
        steps = (
            Step("configure", "Take signed modules: 'install: {delivery: precompiled}' in the profile."),
            Step("configure", "Or enrol a key: 'mokutil --import' with it, then confirm at the console of the next boot."),
        )
        made = need(need(given.view.installation).secure_boot_keys)
        found = f"{several(made)}, not enrolled" if made else "no key for modules"
        yield refusal("secure-boot", "Secure Boot would refuse the module that DKMS builds", found, "an enrolled key", *steps)
