"""Pins of apt: versions that a transaction may choose and an upgrade keeps."""

from hostagent.core.unread import need
from hostagent.facts.packages import VersionLock
from hostagent.plan.model import Choices, Given, PlanStep, Probe, Undo, Write
from hostagent.plan.repositories.places import PIN_DRIVER, PIN_TOOLKIT
from hostagent.plan.view import View

#: Above 1000 apt goes back to an older version, too (apt_preferences(5)).
_PRIORITY = 1001
_MOST_PATTERNS = 12  # on a line

Pin = tuple[str, str]  # (package or glob, version or glob)


def pin_steps(given: Given, choices: Choices) -> tuple[PlanStep, ...]:
    """Pins of the packages of this plan, written before they are installed."""
    found: list[PlanStep] = []
    if choices.driver.wanted:
        found.append(_step("driver", PIN_DRIVER, driver_pins(given, choices), ("driver.package_held",)))
    if choices.toolkit.wanted and given.profile.install.hold:
        found.append(_step("toolkit", PIN_TOOLKIT, _versions(choices.toolkit.packages, choices.toolkit.version), ("toolkit.held",)))
    return tuple(found)


def driver_pins(given: Given, choices: Choices) -> tuple[Pin, ...]:
    """Any revision of the version, for each pattern; the whole branch where that is open, or the profile asks for no hold."""
    driver = choices.driver
    version = f"{driver.version}-*" if driver.version and given.profile.install.hold else f"{driver.branch}.*"
    return tuple((name, version) for name in dict.fromkeys(driver.pinned or (name for name, _ in driver.packages)))


def _versions(packages: tuple[Pin, ...], version: str) -> tuple[Pin, ...]:
    """Where nothing is resolved yet, any revision of the version that is wanted."""
    open_ = version if version.endswith("*") else f"{version}-*"
    return tuple((name, written or open_) for name, written in packages)


def pin_text(what: str, pins: tuple[Pin, ...]) -> str:
    """A file of preferences: one stanza per version.

    >>> print(pin_text("toolkit", (("a", "1.0-1"), ("b", "1.0-1"))))
    # Written by hostagent: it keeps the toolkit at this version until hostagent changes it.
    Package: a b
    Pin: version 1.0-1
    Pin-Priority: 1001
    <BLANKLINE>
    """
    stanzas = []
    for version in dict.fromkeys(version for _, version in pins):
        names = [name for name, at in pins if at == version]
        rows = [" ".join(names[start : start + _MOST_PATTERNS]) for start in range(0, len(names), _MOST_PATTERNS)]
        stanzas += [f"Package: {row}\nPin: version {version}\nPin-Priority: {_PRIORITY}\n" for row in rows]
    return f"# Written by hostagent: it keeps the {what} at this version until hostagent changes it.\n" + "\n".join(stanzas)


def _step(what: str, path: str, pins: tuple[Pin, ...], checks: tuple[str, ...]) -> PlanStep:
    versions = ", ".join(dict.fromkeys(version for _, version in pins))
    locks = frozenset(VersionLock(path, name, version) for name, version in pins)
    return PlanStep(
        f"repositories.pin-{what}",
        "repositories",
        "file",
        f"Pin the {what} to {versions}"[:80],
        "an upgrade, and the solver of this installation, then choose no other version",
        Probe(f"{path} pins {versions}", lambda view: _pinned(view, path) == locks),
        (Write(path, pin_text(what, pins), keys=tuple(f"{name} {version}" for name, version in pins)),),
        Undo("restore"),
        checks,
    )


def _pinned(view: View, path: str) -> frozenset[VersionLock]:
    return frozenset(one for one in need(need(view.packages).locks) if one.file == path)
