"""Restarts of running runtimes after a change of configuration, where the profile and the containers allow it."""

from collections.abc import Callable

from hostagent.core.text import counted
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.runtime.tables.versions import RUNTIME_UNITS
from hostagent.facts.runtime import Runtime
from hostagent.plan.model import Given, PlanStep, Portion, Probe, Run, Undo
from hostagent.plan.runtime.needs import restart_step
from hostagent.plan.runtime.refused import no_unit, restart
from hostagent.plan.view import View

#: The start of a process is relative to the boot time in seconds (btime of proc_stat(5)).
_START_IS_EXACT_TO_S = 1


def runs(runtime: Runtime) -> bool:
    """False in an image. Raises ``UnreadError``."""
    if isinstance(runtime.running, Unread) and runtime.running.why == "not-running":
        return False
    return need(runtime.running)


def is_pending(runtime: Runtime) -> bool:
    """Whether it runs with an older configuration than the one on the disk. Raises ``UnreadError``."""
    if isinstance(runtime.newest_config_mtime, Unread) and runtime.newest_config_mtime.why == "absent":
        return False
    return need(runtime.started_at) + _START_IS_EXACT_TO_S < need(runtime.newest_config_mtime)


def restart_portion(given: Given, runtime: Runtime, configured: Callable[[View], bool], *, changes: bool) -> Portion:
    """One restart, or why there is none. `changes`: this plan changes its configuration. Raises ``UnreadError``."""
    policy = given.profile.install.restart
    if policy == "never":
        return Portion()
    unit = _unit(given.view, runtime)
    refusal = (no_unit(runtime),) if not unit else ()
    why = _stops_containers(given, runtime) if policy == "auto" else ""
    if why and not refusal:
        refusal = (restart(runtime, why),)
    if refusal:
        return Portion(refusals=refusal if changes else ())
    return Portion(steps=(_step(runtime, unit, configured),))


def restarted(key: str, configured: Callable[[View], bool]) -> Probe:
    """The probe that the runtime of that key runs with its current configuration."""

    def holds(view: View) -> bool:
        found = next((one for one in need(view.runtimes) if one.key == key), None)
        return found is not None and configured(view) and runs(found) and not is_pending(found)

    return Probe(f"{key} started after its configuration last changed", holds)


def _step(runtime: Runtime, unit: str, configured: Callable[[View], bool]) -> PlanStep:
    key = runtime.key
    return PlanStep(
        restart_step(key),
        "runtime",
        "restart",
        f"Restart {key}",
        "it reads its configuration as it starts",
        restarted(key, configured),
        (Run(("systemctl", "restart", unit), timeout_s=300),),
        Undo("run", do=(Run(("systemctl", "restart", unit), timeout_s=300),)),
        ("runtime.restart_pending", "runtime.nvidia_handler"),
        (f"{unit}.service",),
    )


def _unit(view: View, runtime: Runtime) -> str:
    """The service that runs it here, without .service; "" for no known service."""
    services = need(view.services)
    names = [name for name in RUNTIME_UNITS[runtime.key] if not name.endswith(".socket")]
    there = [unit for name in names if not isinstance(unit := services.unit(name), Unread) and unit.exists]
    active = [unit for unit in there if not isinstance(unit.active, Unread) and unit.active]
    return next((unit.name for unit in (*active, *there)), "")


def _stops_containers(given: Given, runtime: Runtime) -> str:
    """Why a restart needs consent: it stops containers; "" where they keep running."""
    if runtime.kind != "docker":
        return ""
    installation = need(given.view.installation)
    if installation.live_restore is True:
        return ""
    if isinstance(installation.containers, Unread):
        raise UnreadError(installation.containers)
    count = installation.containers
    return f"{counted(count, 'container')} of it would stop" if count else ""
