"""Inputs of a choice of the driver: read once, so that one unread fact is one refusal."""

from typing import NamedTuple

from hostagent.core.tables.pci import Flavour
from hostagent.core.unread import NOT_APPLICABLE, Unread, need
from hostagent.domains.driver.tables.packages import Host
from hostagent.facts.version import Wish, satisfies, wish
from hostagent.plan.driver.installed import DriverPackage, driver_of, has_advisory, newest_first, packages_of
from hostagent.plan.driver.kernels import target_kernels
from hostagent.plan.model import Given
from hostagent.plan.view import View

_FABRIC_PARTS = ("fabric manager", "NSCQ", "NVSDM")


class Situation(NamedTuple):
    """One host, and the requirements of its profile."""

    given: Given
    host: Host
    packages: tuple[DriverPackage, ...]  # all of them
    driver: tuple[DriverPackage, ...]  # those of the driver
    kernels: tuple[str, ...]
    origin: str  # cuda, distribution
    flavour: Flavour
    nvswitch: bool
    nvlink5: bool
    imex: bool

    @property
    def names(self) -> frozenset[str]:
        return frozenset(one.name for one in self.packages)

    @property
    def unused(self) -> frozenset[str]:
        """Parts of the driver that nothing on this host needs, whatever version they have."""
        return frozenset(() if self.nvswitch else _FABRIC_PARTS) | frozenset(() if self.imex else ("IMEX",))

    @property
    def wish(self) -> Wish:
        """The version that the profile installs."""
        return wish(self.given.profile.driver.install)

    @property
    def branch(self) -> str:
        return self.wish.branch

    def meets(self, version: str) -> bool:
        """Whether an installed version may stay."""
        profile = self.given.profile
        return satisfies(version, profile.driver.version) and not (profile.security == "critical" and has_advisory(version))

    def is_meant(self, version: str) -> bool:
        """Whether the profile names this version to be installed, and accepts it."""
        return self.wish.names(version) and satisfies(version, self.given.profile.driver.version)


def host_of(view: View) -> Host:
    """Raises ``UnreadError``."""
    os = need(view.os)
    return Host(need(os.id), need(os.version_id), need(os.arch))


def situation(given: Given, origin: str, flavour: Flavour) -> Situation:
    """Raises ``UnreadError``."""
    packages = packages_of(given.view)
    switches, bridges = _switches(given.view)
    return Situation(
        given=given,
        host=host_of(given.view),
        packages=packages,
        driver=driver_of(packages),
        kernels=target_kernels(given.view),
        origin=origin,
        flavour=flavour,
        nvswitch=switches or bridges or "nvswitch" in given.asked.extras,
        nvlink5=bridges,
        imex=wants_imex(given),
    )


def wants_manager(given: Given) -> bool:
    """Whether this host has to run a fabric manager. Raises ``UnreadError``."""
    return "nvswitch" in given.asked.extras or any(_switches(given.view))


def wants_imex(given: Given) -> bool:
    return given.profile.imex.required or "imex" in given.asked.extras


def _switches(view: View) -> tuple[bool, bool]:
    """NVSwitches on PCI, and bridges to those of NVLink 5. Raises ``UnreadError``."""
    if isinstance(view.fabric, Unread) and view.fabric.why in NOT_APPLICABLE:
        return False, False
    fabric = need(view.fabric)
    on_pci, bridges = fabric.nvswitches, fabric.nvlink5_managers
    return (
        bool(not _is_gone(on_pci) and need(on_pci)),
        bool(not _is_gone(bridges) and need(bridges)),
    )


def _is_gone(value: object) -> bool:
    return isinstance(value, Unread) and value.why in NOT_APPLICABLE


def preferred(state: Situation, offered: "set[str]") -> tuple[str, ...]:
    """The versions to try, best first: installed ones that may stay, else the newest that the profile names."""
    have = {one.upstream for one in state.driver}
    staying = () if state.given.asked.upgrade else newest_first({one for one in have if state.meets(one)})
    meant = newest_first({one for one in offered | have if state.is_meant(one)})
    return tuple(dict.fromkeys((*staying, *meant)))
