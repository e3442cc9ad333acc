"""The configuration of a Docker that this plan installs: of it the host has at most the configuration file."""

from collections.abc import Callable

from hostagent.core.unread import Unread
from hostagent.facts.runtime import Runtime
from hostagent.facts.version import compare_upstream, upstream
from hostagent.plan.model import Choices, Given, PlanStep, Portion, Run, Undo
from hostagent.plan.runtime import containerd, docker
from hostagent.plan.runtime.configured import config_of
from hostagent.plan.runtime.files import files_of
from hostagent.plan.runtime.needs import Need, restart_step
from hostagent.plan.runtime.refused import no_toolkit, not_editable
from hostagent.plan.runtime.restarts import restarted
from hostagent.plan.transactions import commands
from hostagent.plan.view import View

_UNIT = "docker"
_KEY = "docker"


def after_install_portion(given: Given, choices: Choices) -> Portion:
    """Raises ``UnreadError``."""
    asked = given.asked.docker
    if not choices.docker.wanted or asked is None or not asked.configure:
        return Portion()
    access, default = given.profile.runtime.access, given.profile.runtime.default_runtime
    one = Need(_coming(), access != "cdi" or default == "nvidia", access == "cdi", default if default == "nvidia" else "")
    if not (choices.toolkit.wanted or choices.toolkit.version):
        return Portion(refusals=(no_toolkit(one.runtime),))
    try:
        writes = files_of(given, one)
    except containerd.EditError as error:
        return Portion(refusals=(not_editable(one.runtime, docker.CONFIG, str(error)),))
    step = config_of(given, one, writes, _judges(given, choices))
    is_restarted = given.view.kind != "image" and given.profile.install.restart != "never"
    return Portion(steps=(step, *((_restart(step.probe.holds),) if is_restarted else ())))


def _coming() -> Runtime:
    from dataclasses import fields

    later = Unread("absent", "Docker comes with this plan")
    known = {one.name: later for one in fields(Runtime)}
    return Runtime(**{**known, "key": _KEY, "kind": "docker"})  # type: ignore[arg-type]


def _judges(given: Given, choices: Choices) -> tuple[Run, ...]:
    """Its own program, where the new version can validate a file without starting."""
    argv = commands(given.view, given.profile.install.lock_timeout_s).install(choices.docker.packages)
    answer = given.offers.transactions.get(argv)
    names = {name for name, _ in choices.docker.packages}
    versions = (upstream(one.after) for one in (answer.moved if answer else ()) if one.name in names and one.after)
    version = next((one for one in versions if not isinstance(one, Unread)), "")
    if not version or compare_upstream(version, docker.VALIDATES_SINCE) < 0:
        return ()
    return (Run(("dockerd", "--validate", f"--config-file={docker.CONFIG}"), timeout_s=30),)


def _restart(configured: Callable[[View], bool]) -> PlanStep:
    """The restart, always allowed: no container runs in it yet."""
    return PlanStep(
        restart_step(_KEY),
        "runtime",
        "restart",
        "Restart docker",
        "its package starts it before it has this configuration",
        restarted(_KEY, configured),
        (Run(("systemctl", "restart", _UNIT), timeout_s=300),),
        Undo("packages"),
        ("runtime.restart_pending", "runtime.nvidia_handler"),
        (f"{_UNIT}.service",),
    )
