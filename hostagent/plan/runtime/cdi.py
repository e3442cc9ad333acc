"""nvidia-ctk's CDI specification: breaks an ordering cycle of its refresh, and renews it for another driver."""

# The ordering cycle is the toolkit's 1.19.0: After=multi-user.target of nvidia-cdi-refresh.service, where a unit waits for the
# refresh.

import re

from hostagent.core.unread import NOT_APPLICABLE, Unread, need
from hostagent.domains.runtime.access import ctk_specs
from hostagent.domains.runtime.tables.cdi_versions import AFTER_TARGET, has_refresh_units
from hostagent.plan.model import Choices, Given, Operation, PlanStep, Probe, Run, Undo, Write
from hostagent.plan.runtime.texts import mode_of, text_of
from hostagent.plan.view import View

_UNIT = "nvidia-cdi-refresh"
_FILE = f"/etc/systemd/system/{_UNIT}.service"
_TARGET = "multi-user.target"
_LINE = re.compile(rf"^(After={re.escape(_TARGET)}[ \t]*)$", re.MULTILINE)
_MARK = "# hostagent: "
_WAITS = re.compile(rf"^\s*After\s*=.*\b{_UNIT}\.service\b", re.MULTILINE)


def cdi_steps(given: Given, choices: Choices) -> tuple[PlanStep, ...]:
    """Raises ``UnreadError``."""
    if given.profile.runtime.access == "handler":
        return ()
    return (*_order_step(given, choices), *_refresh_step(given, choices))


def _order_step(given: Given, choices: Choices) -> tuple[PlanStep, ...]:
    """The step against the cycle, only where a unit waits for the refresh; elsewhere the package's file stays unchanged."""
    waiting = _waiting(given.view, choices)
    if not waiting:
        return ()
    operation, undo = _by_program() if choices.toolkit.wanted else _by_text(given.view)
    return (
        PlanStep(
            "runtime.cdi-order",
            "runtime",
            "file",
            f"Take {_TARGET} out of what {_UNIT}.service waits for",
            f"{waiting} waits for it and {_TARGET} for {waiting}: systemd drops one of them from the boot",
            Probe(f"{_UNIT}.service does not wait for {_TARGET}", _is_free),
            (operation,),
            undo,
            ("cdi.refresh_order",),
        ),
    )


def _waiting(view: View, choices: Choices) -> str:
    """The first unit that the order closes a cycle with, "" for none; with a toolkit that this plan brings, as it will be."""
    toolkit = choices.toolkit
    if not toolkit.wanted:
        cycles = need(view.cdi).refresh_cycles
        return "" if isinstance(cycles, Unread) and cycles.why == "absent" else next(iter(need(cycles)), "")
    if toolkit.version not in AFTER_TARGET:
        return ""
    units = (one for one in need(need(view.services).units) if one.name != _UNIT and one.exists)
    return next((f"{one.name}.service" for one in units if not isinstance(one.text, Unread) and _WAITS.search(one.text)), "")


def _by_text(view: View) -> tuple[Operation, Undo]:
    """Writes the file with the line as a comment. Raises ``UnreadError``."""
    text = text_of(view, _FILE)
    content = "" if isinstance(text, Unread) else _LINE.sub(rf"{_MARK}\1", text)
    return Write(_FILE, content, mode_of(view, _FILE), (f"Unit.After: no {_TARGET}",)), Undo("restore")


def _by_program() -> tuple[Operation, Undo]:
    """The same for a file of packages of this plan; its undo restores the packages' text before they are removed."""
    away = ("sed", "-i", rf"s/^After={re.escape(_TARGET)}[[:space:]]*$/{_MARK}&/", _FILE)
    back = ("sed", "-i", rf"s/^{_MARK}\(After=.*\)$/\1/", _FILE)
    return Run(away, where=_FILE), Undo("run", do=(Run(back, where=_FILE),))


def _is_free(view: View) -> bool:
    return not need(need(view.cdi).refresh_after_target)


def _refresh_step(given: Given, choices: Choices) -> tuple[PlanStep, ...]:
    """Renews it for a driver that runs, or is loaded before; with one that the next boot loads it is made then."""
    view = given.view
    version = _version(given, choices)
    if not version or not _has_unit(view, choices) or not _is_missed(given):
        return ()
    return (
        PlanStep(
            "runtime.cdi",
            "runtime",
            "unit",
            "Renew the CDI specification",
            f"it names the libraries of the driver, which is {version}",
            Probe(f"the CDI specification is of driver {version}", lambda view: _is_of(view, version)),
            (Run(("systemctl", "restart", f"{_UNIT}.service"), timeout_s=120),),
            Undo("none", "the specification lies in memory, and is made again at each boot"),
            ("cdi.spec_present", "cdi.driver_version", "cdi.refresh_result"),
        ),
    )


def _version(given: Given, choices: Choices) -> str:
    """Version of the driver that runs after the driver's steps; "" in an image, and where a reboot exchanges it."""
    loaded = need(given.view.driver).loaded_version
    if isinstance(loaded, Unread) and loaded.why in NOT_APPLICABLE:
        return ""
    if not choices.driver.wanted or choices.driver.version == need(loaded):
        return need(loaded)
    return "" if given.asked.in_use else choices.driver.version


def _is_missed(given: Given) -> bool:
    """Whether there is a specification, or containers get their GPUs only by it."""
    return bool(ctk_specs(need(given.view.cdi))) or given.profile.runtime.access == "cdi"


def _has_unit(view: View, choices: Choices) -> bool:
    """Whether the unit exists; a host without systemd has none."""
    if choices.toolkit.wanted:
        return has_refresh_units(choices.toolkit.version)
    unit = need(need(view.services).unit(_UNIT))
    return unit.exists and not need(unit.masked)


def _is_of(view: View, version: str) -> bool:
    return any(version in spec.library_versions for spec in ctk_specs(need(view.cdi)))
