"""The units that make nvidia-ctk's CDI specification at boot."""

from hostagent.core.unread import need
from hostagent.domains.runtime.tables.cdi_versions import REFRESH_UNITS, has_refresh_units
from hostagent.plan.model import Given, PlanStep, Probe, Run, ToolkitChoice, Undo
from hostagent.plan.view import View


def unit_steps(given: Given, choice: ToolkitChoice) -> tuple[PlanStep, ...]:
    """Enables them, in an image too, where the packages' scripts do not. A masked one stays masked. Raises ``UnreadError``."""
    if given.profile.runtime.access == "handler" or not has_refresh_units(choice.version):
        return ()
    if not choice.wanted and not _exist(given.view):
        return ()
    if _masked(given.view):
        return ()
    return (
        PlanStep(
            "toolkit.units",
            "toolkit",
            "unit",
            "Enable the units that refresh the CDI specification",
            "containers that ask for CDI devices find them after each boot",
            Probe(f"{' and '.join(REFRESH_UNITS)} are enabled", _enabled),
            (Run(("systemctl", "--root=/", "enable", *REFRESH_UNITS)),),
            Undo("units"),
            ("cdi.refresh_enabled",),
        ),
    )


def _units(view: View) -> tuple[str, ...]:
    return tuple(name.removesuffix(".service") for name in REFRESH_UNITS)


def _exist(view: View) -> bool:
    services = need(view.services)
    return all(need(services.unit(name)).exists for name in _units(view))


def _masked(view: View) -> bool:
    services = need(view.services)
    return any(need(services.unit(name)).exists and need(need(services.unit(name)).masked) for name in _units(view))


def _enabled(view: View) -> bool:
    services = need(view.services)
    return all(need(need(services.unit(name)).enabled) for name in _units(view))
