"""The module that runs now becomes the plan's, where nobody uses the other one."""

from hostagent.facts.unread import need
from hostagent.knowledge.fabric import MANAGER_UNIT
from hostagent.plan.driver import probes
from hostagent.plan.driver.loaded import MODULES
from hostagent.plan.driver.starting import PERSISTENCED, unit_file, wanted_units
from hostagent.plan.model import DriverChoice, Given, PlanStep, Probe, Run, Undo

_STOPS_WITH_IT = (MANAGER_UNIT, PERSISTENCED)


def load_step(given: Given, choice: DriverChoice, *, exchange: bool) -> PlanStep:
    """Raises ``UnreadError``."""
    start = tuple(name for name in wanted_units(given) if name in _STOPS_WITH_IT)
    title = f"Exchange the loaded module for {choice.version or choice.branch}" if exchange else "Load the driver's modules"
    return PlanStep(
        "driver.load",
        "driver",
        "load",
        title,
        "nobody uses the GPUs, so no reboot is needed" if exchange else "jobs and their containers need the modules before they start",
        Probe(
            f"driver {choice.version or choice.branch} and nvidia_uvm are loaded",
            lambda view: probes.module_in_force(view, choice),
        ),
        (*(_unloading(given) if exchange else ()), Run(("modprobe", "nvidia")), Run(("modprobe", "nvidia-uvm")), *_starting(start)),
        Undo("none", "a loaded module stays until the next boot"),
        ("driver.loaded", "driver.reload_needed", "driver.proc_agrees", "kernel.uvm_loaded", "driver.nvml_initialises"),
        restarts=start if exchange else (),
    )


def _unloading(given: Given) -> tuple[Run, ...]:
    """The driver's own daemons end first: they hold its device nodes."""
    loaded = need(need(given.view.kernel).loaded_modules)
    stops = (Run(("systemctl", "stop", f"{name}.service"), where=unit_file(name)) for name in _STOPS_WITH_IT)
    return (*stops, *(Run(("rmmod", name)) for name in MODULES if name in loaded))


def _starting(units: tuple[str, ...]) -> tuple[Run, ...]:
    return tuple(Run(("systemctl", "start", f"{name}.service"), where=unit_file(name)) for name in reversed(units))
