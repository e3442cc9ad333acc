"""The kernel module that the rest of the driver is compared with: the loaded one, else the one that the next boot loads."""

from collections.abc import Callable

from hostagent.check import NOT_APPLICABLE, Unread, need
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import InstalledKernel, Kernel


def module_version(driver: Driver, kernel: Kernel) -> str:
    """Its version."""
    return _loaded_or_next(driver.loaded_version, kernel, lambda following: following.nvidia_version)


def module_flavour(driver: Driver, kernel: Kernel) -> str:
    """Open or proprietary."""
    return _loaded_or_next(driver.flavour, kernel, lambda following: following.nvidia_flavour)


def _loaded_or_next(loaded: "str | Unread", kernel: Kernel, of: "Callable[[InstalledKernel], str | Unread]") -> str:
    """Nothing is loaded, or nothing runs: what the next boot loads counts. Any other reason leaves the check unknown."""
    if isinstance(loaded, Unread) and loaded.why in NOT_APPLICABLE:
        return need(of(need(kernel.at(kernel.next_release))))
    return need(loaded)
