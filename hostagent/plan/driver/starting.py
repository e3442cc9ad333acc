"""The driver's daemons, from the next boot on."""

from hostagent.core.tables.nvlink_fabric import IMEX_UNIT, MANAGER_UNIT
from hostagent.core.text import joined
from hostagent.plan.driver import probes
from hostagent.plan.driver.situation import wants_imex, wants_manager
from hostagent.plan.model import DriverChoice, Given, Operation, PlanStep, Probe, Run, Undo
from hostagent.plan.view import View

PERSISTENCED = "nvidia-persistenced"
_CHECKS = {
    PERSISTENCED: ("driver.persistenced", "gpu.persistence"),
    MANAGER_UNIT: ("nvswitch.manager_enabled",),
    IMEX_UNIT: ("nvswitch.imex_running",),
}


def wanted_units(given: Given) -> tuple[str, ...]:
    """Raises ``UnreadError``."""
    asked = (
        (PERSISTENCED, given.profile.gpus.persistence and not _is_masked(given, PERSISTENCED)),
        (MANAGER_UNIT, wants_manager(given)),
        (IMEX_UNIT, wants_imex(given)),
    )
    return tuple(name for name, is_asked in asked if is_asked)


def unit_file(name: str) -> str:
    return f"/usr/lib/systemd/system/{name}.service"


def units_step(given: Given, choice: DriverChoice) -> "PlanStep | None":
    """Raises ``UnreadError``."""
    units = wanted_units(given)
    if not units:
        return None
    return PlanStep(
        "driver.units",
        "driver",
        "unit",
        f"Start {joined(units)} at boot",
        "the driver's daemons do not start by themselves in every package, and in an image no package enables them",
        Probe(
            f"{joined(units)} are enabled, where they are installed",
            lambda view: probes.packages_there(view, choice) and all(_is_enabled(view, one) for one in units),
        ),
        tuple(one for name in units for one in _enabling(given, name)),
        Undo("units"),
        tuple(check for name in units for check in _CHECKS[name]),
    )


def _enabling(given: Given, name: str) -> tuple[Operation, ...]:
    unmask = (Run(("systemctl", "--root=/", "unmask", f"{name}.service")),) if _is_masked(given, name) else ()
    return (*unmask, Run(("systemctl", "--root=/", "enable", f"{name}.service"), where=unit_file(name)))


def _is_enabled(view: View, name: str) -> bool:
    """Raises ``UnreadError``."""
    return probes.unit_enabled(view, name) or (name == PERSISTENCED and probes.keeps_gpus_up(view))


def _is_masked(given: Given, name: str) -> bool:
    unit = probes.unit_of(given.view, name)
    return unit is not None and unit.exists and unit.masked is True
