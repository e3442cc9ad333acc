"""Exchanges the loaded module for the plan's, where no process uses it, and starts its daemons."""

from hostagent.core.tables.nvlink_fabric import MANAGER_UNIT, NVLSM_MODULES
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.plan.driver import probes
from hostagent.plan.driver.loaded import MODULES
from hostagent.plan.driver.situation import wants_manager
from hostagent.plan.driver.starting import PERSISTENCED, unit_file, wanted_units
from hostagent.plan.model import DriverChoice, Given, PlanStep, Probe, Run, Undo
from hostagent.plan.view import View

_STOPS_WITH_IT = (MANAGER_UNIT, PERSISTENCED)
_NODES_MAKER = "/usr/bin/nvidia-modprobe"
_UVM_NODE = "/dev/nvidia-uvm"
_CHECKS = (
    *("driver.loaded", "driver.reload_needed", "driver.proc_agrees", "driver.library_match", "driver.nvml_initialises"),
    *("driver.nvml_version", "driver.device_nodes", "driver.char_links"),
    *("kernel.uvm_loaded", "kernel.modeset_loaded"),
)
_OF_SWITCHES = (
    *("nvswitch.bound", "nvswitch.manager_running", "nvswitch.manager_version", "nvswitch.library_version"),
    *("nvswitch.nvlsm_modules", "nvswitch.nvlsm_running"),
)


def load_step(given: Given, choice: DriverChoice, *, exchange: bool) -> PlanStep:
    """Raises ``UnreadError``."""
    start = tuple(name for name in wanted_units(given) if name in _STOPS_WITH_IT)
    title = f"Exchange the loaded module for {choice.version or choice.branch}" if exchange else "Load the driver's modules"
    loads = (Run(("modprobe", name)) for name in (*_before(given), "nvidia", "nvidia-uvm"))
    also = (Run(("modprobe", "nvidia-modeset"), codes=()), Run(("nvidia-modprobe", "-c0", "-u"), codes=(), where=_NODES_MAKER))
    return PlanStep(
        "driver.load",
        "driver",
        "load",
        f"{title} and start its daemons" if start else title,
        "nobody uses the GPUs, so no reboot is needed" if exchange else "jobs and their containers need the modules before they start",
        Probe(
            f"driver {choice.version or choice.branch} and nvidia_uvm are loaded" + (f", and {', '.join(start)} run" if start else ""),
            lambda view: probes.module_in_force(view, choice) and _has_nodes(view) and all(_runs(view, name) for name in start),
        ),
        (*(_unloading(given) if exchange else ()), *loads, *also, *_starting(start)),
        Undo("none", "a loaded module stays until the next boot"),
        (*_CHECKS, *_of_nodes(given.view), *(_OF_SWITCHES if wants_manager(given) else ())),
        restarts=tuple(f"{name}.service" for name in start) if exchange else (),
    )


def _before(given: Given) -> tuple[str, ...]:
    """Modules that the subnet manager of NVLink 5 needs to reach the switches."""
    fabric = given.view.fabric
    bridges = () if isinstance(fabric, Unread) or isinstance(fabric.nvlink5_managers, Unread) else fabric.nvlink5_managers
    return NVLSM_MODULES if bridges else ()


def _unloading(given: Given) -> tuple[Run, ...]:
    """The driver's own daemons end first: they hold its device nodes."""
    loaded = need(need(given.view.kernel).loaded_modules)
    stops = (Run(("systemctl", "stop", f"{name}.service"), where=unit_file(name)) for name in _STOPS_WITH_IT)
    return (*stops, *(Run(("rmmod", name)) for name in MODULES if name in loaded))


def _starting(units: tuple[str, ...]) -> tuple[Run, ...]:
    return tuple(Run(("systemctl", "restart", f"{name}.service"), where=unit_file(name)) for name in reversed(units))


def _of_nodes(view: View) -> tuple[str, ...]:
    """The condition on the node of nvidia-uvm; none where it is created on first use."""
    on_demand = not isinstance(view.driver, Unread) and view.driver.nodes_on_demand is True
    return () if on_demand else ("driver.device_majors",)


def _has_nodes(view: View) -> bool:
    """Whether unprivileged programs find the node of nvidia-uvm, or the program that creates it. Raises ``UnreadError``."""
    driver = need(view.driver)
    if driver.nodes_on_demand is True:
        return True
    major = dict(need(driver.char_majors)).get("nvidia-uvm", -1)
    return any(one.path.endswith(_UVM_NODE) and one.major == major for one in need(driver.device_nodes))


def _runs(view: View, name: str) -> bool:
    """The daemon of a unit that is there and starts at boot. Raises ``UnreadError``."""
    unit = probes.unit_of(view, name)
    if unit is None or not unit.exists or need(unit.enabled) is False:
        return True
    if name == PERSISTENCED:
        return need(need(view.driver).persistenced_socket) or probes.keeps_gpus_up(view)
    try:
        return need(unit.active)
    except UnreadError:
        return True
