"""Docker's service: enabled, and running where the host runs."""

from hostagent.core.steps import Step
from hostagent.core.unread import Unread, need
from hostagent.facts.host import Unit
from hostagent.plan.model import DockerChoice, Given, Operation, PlanStep, Probe, Refusal, Run, Undo
from hostagent.plan.refusals.words import refusal
from hostagent.plan.view import View

SERVICE, SOCKET = "docker", "docker.socket"
_UNIT = "docker.service"
#: systemctl(1): a unit that has gone.
_NOT_LOADED = 5


def units_step(view: View, choice: DockerChoice) -> tuple[PlanStep, ...]:
    """() where another unit starts the installed Docker, such as its snap's. Raises ``UnreadError``."""
    if not choice.wanted and not _unit(view, SERVICE).exists:
        return ()
    is_image = view.kind == "image"
    return (
        PlanStep(
            "docker.units",
            "docker",
            "unit",
            "Start Docker at boot" if is_image else "Start Docker, now and at each boot",
            "not every distribution starts it once it is installed",
            Probe("docker is enabled" if is_image else "docker is enabled and runs", _enabled if is_image else _enabled_and_runs),
            _doing(view, choice),
            _undo(view, choice),
        ),
    )


def is_masked(view: View) -> bool:
    """Raises ``UnreadError``."""
    unit = _unit(view, SERVICE)
    return unit.exists and need(unit.masked)


def masked() -> Refusal:
    steps = (Step("configure", "Let Docker be started, if it may be.", f"systemctl unmask {_UNIT}"), Step("rerun", "Run it again."))
    return refusal("docker-masked", "Somebody has forbidden Docker to start", f"{_UNIT} is masked", "a unit that may start", *steps)


def is_started(given: Given) -> bool:
    """Whether the plan starts a stopped Docker, before its configuration is written. Raises ``UnreadError``."""
    return given.asked.docker is not None and given.view.kind != "image" and _unit(given.view, SERVICE).exists


def _doing(view: View, choice: DockerChoice) -> tuple[Operation, ...]:
    if view.kind == "image":
        return (Run(("systemctl", "--root=/", "enable", _UNIT)),)
    if not choice.wanted and _enabled(view):  # by its socket, too, which stays unchanged
        return (Run(("systemctl", "start", _UNIT), timeout_s=300),)
    return (Run(("systemctl", "enable", "--now", _UNIT), timeout_s=300),)


def _undo(view: View, choice: DockerChoice) -> Undo:
    """Links are restored with the files; a unit that did not run is stopped, also where its package's scripts do not (policy-rc.d)."""
    if view.kind == "image" or (not choice.wanted and _runs(view)):
        return Undo("units")
    units = (_UNIT, SOCKET) if choice.wanted else (_UNIT,)
    return Undo("run", "it did not run before", (Run(("systemctl", "stop", *units), codes=(0, _NOT_LOADED), timeout_s=300),))


def _enabled_and_runs(view: View) -> bool:
    return _enabled(view) and _runs(view)


def _enabled(view: View) -> bool:
    """Whether it is enabled, or its socket, which starts it on demand. Raises ``UnreadError``."""
    if need(_unit(view, SERVICE).enabled):
        return True
    socket = need(view.services).unit(SOCKET)
    return not isinstance(socket, Unread) and socket.exists and need(socket.enabled)


def _runs(view: View) -> bool:
    return need(_unit(view, SERVICE).active)


def _unit(view: View, name: str) -> Unit:
    return need(need(view.services).unit(name))
