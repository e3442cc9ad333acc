"""A system that NVIDIA has no packages for, or that somebody else replaces as a whole."""

from collections.abc import Iterator

from hostagent.core.steps import Step
from hostagent.core.tables.platforms import OWNERS, OWNERS_WAY, owners_way
from hostagent.core.unread import need
from hostagent.core.vocabulary import PartName
from hostagent.domains.packages.commands import program_of
from hostagent.domains.packages.tables.package_manager_commands import CARRIED_OUT
from hostagent.domains.system.distributions import ARCHITECTURES, DISTRIBUTIONS, repository, versions
from hostagent.facts.platform import Platform
from hostagent.plan.model import Asking, Given, Refusal
from hostagent.plan.refusals.words import refusal
from hostagent.plan.view import View

#: NVIDIA DGX OS User Guide: its own repositories and meta packages bring driver and toolkit.
_DGX = "DGX OS"
_PARTS: tuple[tuple[Asking, PartName], ...] = (("driver", "driver"), ("toolkit", "toolkit"), ("runtime", "runtime"))


def of_system(given: Given) -> Iterator[Refusal]:
    """Raises ``UnreadError``."""
    platform = need(given.view.platform)
    yield from _of_platform(platform)
    if need(platform.base) in ("managed", "guest"):
        return
    os = need(given.view.os)
    arch, distribution = need(os.arch), need(os.id)
    if arch not in ARCHITECTURES:
        step = Step("contact_owner", "Take the node out of the GPU pool.")
        yield refusal("architecture", "There is no NVIDIA driver for this CPU architecture", arch, " or ".join(ARCHITECTURES), step)
    move = Step("contact_owner", "Move the node to a distribution that NVIDIA has packages for.")
    if not versions(distribution):
        wanted = ", ".join(one.id for one in DISTRIBUTIONS)
        yield refusal("distribution", "NVIDIA publishes no packages for this distribution", distribution, wanted, move)
    elif not repository(distribution, need(os.version_id)):
        found, wanted = f"{distribution} {need(os.version_id)}", ", ".join(versions(distribution))
        yield refusal("distribution", "NVIDIA publishes no packages for this version of the distribution", found, wanted, move)


def of_manager(view: View) -> Iterator[Refusal]:
    """A plan is made for each package manager, and carried out with few of them: for who asks one, once the plan is whole."""
    program = program_of(view.packages, view.os)
    if program not in CARRIED_OUT:
        step = Step("install", "Do the steps of this plan with the tools of this host, then judge it.", "hostagent check")
        found, wanted = program or "a package manager that is not known", " or ".join(CARRIED_OUT)
        headline = f"This version carries out no plan with {program or 'this package manager'}"
        yield refusal("manager", headline, found, wanted, step, detail="other plans are made to be read, and not carried out")


def _of_platform(platform: Platform) -> Iterator[Refusal]:
    name = need(platform.name)
    if platform.contained is True:
        step = Step("contact_owner", "Run it on the host of this container.")
        yield refusal("container", "This is an application's container, not a host", "a container", "a host", step)
    elif need(platform.base) in ("managed", "guest"):
        steps = tuple(Step("contact_owner", text) for text in owners_way(name, need(platform.driver).owner, "driver"))
        headline = f"{name} is replaced as a whole: what is installed on it is lost"
        yield refusal("managed-system", headline, name, "a system that packages change", *(steps or _ask(name)))
    elif name == _DGX:
        step = Step("contact_owner", "Upgrade it as the DGX OS User Guide says.")
        yield refusal("dgx-os", "DGX OS brings driver and toolkit by its own packages", name, "an ordinary host", step)


def of_owners(given: Given) -> Iterator[Refusal]:
    """Parts that are asked for, that the profile gives to the host, and that belong to somebody else. Raises ``UnreadError``."""
    platform = need(given.view.platform)
    if need(platform.base) in ("managed", "guest"):
        return
    for asking, part in _PARTS:
        if not given.asked.asks(asking) or _left_to_others(given, asking):
            continue
        owner, name = need(need(platform.part(part))).owner, need(platform.name)
        if owner != "host":
            ways = owners_way(name, owner, part) or OWNERS_WAY.get(part, ())
            steps = tuple(Step("contact_owner", text) for text in ways) or _ask(name)
            whose = {"operator": "the GPU Operator", "provider": "the provider"}.get(owner, f"the image of {name}")
            yield refusal(f"{part}-owned", f"The {part} of this host belongs to {whose}", whose, "the host's own", *steps)


def of_driver_container(given: Given) -> Iterator[Refusal]:
    """Raises ``UnreadError``."""
    if not given.asked.asks("driver") or _left_to_others(given, "driver"):
        return
    driver = need(given.view.driver)
    if need(driver.container_driver):
        step = Step("contact_owner", "Set driver.enabled=false in the GPU Operator, or driver.owner in the profile.")
        found = next(iter(need(driver.container_driver_evidence)), "a driver container")
        yield refusal("driver-container", "A driver container has the driver of this host", found, "a driver of the host's own", step)


def _left_to_others(given: Given, asking: Asking) -> bool:
    """What the profile gives to somebody else is not planned, and so not refused."""
    if asking == "runtime" and given.asked.docker is not None:
        return False
    if asking == "driver":
        return given.profile.driver.owner in OWNERS
    return given.profile.toolkit.owner in OWNERS


def _ask(name: str) -> tuple[Step, ...]:
    return (Step("contact_owner", f"Ask whoever provides {name or 'this part'} to change it."),)
