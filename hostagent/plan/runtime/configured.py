"""The steps of one runtime: configuration, its probe, restart."""

from collections.abc import Callable

from hostagent.core.unread import Unread, need
from hostagent.facts.runtime import Runtime
from hostagent.facts.version import compare_upstream
from hostagent.plan.docker.units import SERVICE, is_started
from hostagent.plan.model import Choices, Given, PlanStep, Portion, Probe, Remove, Run, Undo, Write
from hostagent.plan.runtime import containerd, docker
from hostagent.plan.runtime.files import files_of, main_of, refused
from hostagent.plan.runtime.needs import FIND_THEMSELVES, Need, config_step, entry_works, restart_step
from hostagent.plan.runtime.refused import no_toolkit, not_editable
from hostagent.plan.runtime.restarts import is_pending, restart_portion, runs
from hostagent.plan.view import View

_WHY = {
    "containerd": "containers of the handler nvidia get GPUs by this entry, which is made like runc's",
    "docker": "containers get GPUs by --runtime=nvidia",
    "crio": "containers of the handler nvidia get GPUs by this entry",
}
_CHECKS = ("runtime.nvidia_handler", "runtime.handler_type", "runtime.handler_cgroup", "runtime.handler_binary_set")


def runtime_portion(given: Given, choices: Choices, one: Need) -> Portion:
    """Raises ``UnreadError``."""
    if not one.is_any:
        return _left_over(given, one)
    if not (choices.toolkit.wanted or choices.toolkit.version or _has_program(given.view)):
        return Portion(refusals=(no_toolkit(one.runtime),))
    probe = _probe(given, one)
    if one.runtime.key in FIND_THEMSELVES:
        return _restarted(given, one, probe, changes=True)
    refusal = refused(given, one)
    if refusal:
        return Portion(refusals=(refusal,))
    try:
        writes = files_of(given, one)
    except containerd.EditError as error:
        return Portion(refusals=(not_editable(one.runtime, main_of(one.runtime), str(error)),))
    after = _restarted(given, one, probe, changes=True)
    return Portion(steps=(_step(one, (*writes, *_judges(one.runtime)), probe), *after.steps), refusals=after.refusals)


def config_of(given: Given, one: Need, writes: tuple[Write | Remove, ...], judges: tuple[Run, ...]) -> PlanStep:
    """The configuration step of a runtime that the plan installs; `judges` run its own program on the file."""
    return _step(one, (*writes, *judges), _probe(given, one))


def _left_over(given: Given, one: Need) -> Portion:
    """The restart for an entry that an unfinished run wrote, and that the runtime has not read."""
    runtime = one.runtime
    if not runs(runtime) or not is_pending(runtime):
        return Portion()
    is_ours = restart_step(runtime.key) in given.asked.continued or any(
        handler.nvidia and handler.binary == containerd.PROGRAM for handler in need(runtime.handlers)
    )
    return _restarted(given, one, lambda _: True, changes=False) if is_ours else Portion()


def _restarted(given: Given, one: Need, configured: Callable[[View], bool], *, changes: bool) -> Portion:
    """The restart; none where it does not run, because it reads its configuration at its start."""
    is_running = runs(one.runtime) or (one.runtime.key == SERVICE and is_started(given))
    return restart_portion(given, one.runtime, configured, changes=changes) if is_running else Portion()


def _has_program(view: View) -> bool:
    binaries = need(need(view.toolkit).binaries)
    return any(path == containerd.PROGRAM and executable for path, executable in binaries)


def _probe(given: Given, one: Need) -> Callable[[View], bool]:
    key, wants_entry = one.runtime.key, one.handler

    def configured(view: View) -> bool:
        found = next((runtime for runtime in need(view.runtimes) if runtime.key == key), None)
        if found is None or need(found.state) != "accepted":
            return False
        is_default = not one.default or need(found.default_runtime) == one.default
        return is_default and (not wants_entry or entry_works(view, found)) and (not one.cdi or need(found.cdi_enabled))

    return configured


def _step(one: Need, doing: tuple[Write | Remove | Run, ...], configured: Callable[[View], bool]) -> PlanStep:
    runtime = one.runtime
    what = "Give {} an entry for NVIDIA's runtime" if one.handler else "Turn CDI on in {}" if one.cdi else "Set the default runtime of {}"
    checks = (*(_CHECKS if one.handler else ()), *(("runtime.cdi_enabled",) if one.cdi else ()))
    checks = (*checks, *(("runtime.crio_dropin_path",) if any(isinstance(each, Remove) for each in doing) else ()))
    return PlanStep(
        config_step(runtime.key),
        "runtime",
        "file",
        what.format(runtime.key),
        _WHY[runtime.kind] if one.handler else "the profile asks for it",
        Probe(f"{_wanted(one)} in the effective configuration of {runtime.key}", configured),
        doing,
        Undo("restore"),
        (*checks, *(("runtime.default_runtime",) if one.default else ())),
    )


def _wanted(one: Need) -> str:
    words = (
        "an entry called nvidia is" if one.handler else "",
        "CDI is on" if one.cdi else "",
        f"{one.default} is the default" if one.default else "",
    )
    return ", ".join(word for word in words if word)


def _judges(runtime: Runtime) -> tuple[Run, ...]:
    """The runtime's own program, to validate the written file without starting anything."""
    if runtime.installed is not True:
        return ()
    if runtime.kind == "containerd":
        return (Run(("containerd", "--config", main_of(runtime), "config", "dump"), timeout_s=30),)
    version = runtime.version
    if runtime.kind == "docker" and not isinstance(version, Unread) and compare_upstream(version, docker.VALIDATES_SINCE) >= 0:
        return (Run(("dockerd", "--validate", f"--config-file={main_of(runtime)}"), timeout_s=30),)
    return ()
