"""Docker and its runtime of the name nvidia."""

from typing import NamedTuple

from hostagent.core.unread import Unread
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.runtime import Runtime
from hostagent.setup.found import failed, says
from hostagent.setup.tool_output import Answered

_PART, _NAME = "Docker", "nvidia"


class Docker(NamedTuple):
    installed: bool
    configured: bool  # its runtime nvidia can be used
    infos: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def docker(facts: HostFacts, tool: "Answered | None") -> Docker:
    """By dockerd's merged configuration, where a dockerd is installed and has read it."""
    runtime = _runtime(facts)
    is_there = runtime is not None or (tool is not None and bool(tool.path))
    reported = _NAME in tool.versions if tool is not None and tool.path and not tool.problem else None
    host = _configured(runtime) if runtime is not None else None
    if host is None:
        infos = (f"{_PART}: the runtime {_NAME} is what {says(tool)} says",) if reported and tool else ()
        return Docker(is_there, bool(reported), infos, (*failed(_PART, tool), *_unsettled(runtime)) if reported is None else ())
    if tool is not None and reported is not None and reported != host:
        wrong = f"found {'' if host else 'no '}runtime {_NAME} in the configuration, {says(tool)} says {'one' if reported else 'none'}"
        return Docker(is_there, host, (), (f"{_PART}: {wrong}; the host counts",))
    return Docker(is_there, host, (), failed(_PART, tool))


def _runtime(facts: HostFacts) -> "Runtime | None":
    found = facts.of(Runtime)
    several = () if isinstance(found, Unread) else found
    return next((one for one in several if one.kind == "docker" and one.installed is not False and one.state != "absent"), None)


def _configured(one: Runtime) -> "bool | None":
    """None where it is unknown: dockerd may not have read its newest file, or its state was not read."""
    if isinstance(one.handlers, Unread) or isinstance(one.state, Unread):
        return None
    if one.state != "accepted" or not any(handler.name == _NAME for handler in one.handlers):
        return False
    if isinstance(one.running, Unread):
        return True if one.running.why == "not-running" else None
    if not one.running:
        return one.socket_listening is True
    times = one.newest_config_mtime, one.started_at
    if isinstance(times[0], Unread) and times[0].why == "absent":
        return True
    if isinstance(times[0], Unread) or isinstance(times[1], Unread):
        return None
    return True if times[0] <= times[1] else None


def _unsettled(runtime: "Runtime | None") -> tuple[str, ...]:
    if runtime is None or isinstance(runtime.handlers, Unread):
        return ()
    return (f"{_PART}: the runtime {_NAME} is configured, and whether dockerd has read that is not known",)
