"""The script's lines and exit code from facts and tools. Reads no host."""

from typing import NamedTuple

from hostagent.core.escape import visible
from hostagent.engine.report import Report
from hostagent.facts.hostfacts import HostFacts
from hostagent.setup.containertoolkit import container_toolkit
from hostagent.setup.cudatoolkit import cuda_toolkit
from hostagent.setup.distribution import Distribution, distribution
from hostagent.setup.dockerruntime import docker
from hostagent.setup.driver import driver
from hostagent.setup.extra_findings import beyond
from hostagent.setup.found import PartState
from hostagent.setup.hints import closing_hint, docker_hint
from hostagent.setup.kubernetes import kubernetes
from hostagent.setup.line import Line
from hostagent.setup.request import MISSING, OK, Request
from hostagent.setup.tool_output import Tools

__all__ = ["Line", "Verdict", "verdict"]


class Verdict(NamedTuple):
    lines: tuple[Line, ...]  # in the script's order and words, then further findings of hostagent
    exit: int


class _Part(NamedTuple):
    lines: tuple[Line, ...]
    more: tuple[Line, ...]
    satisfied: bool = True


def verdict(request: Request, facts: HostFacts, tools: Tools, report: Report, *, closing: bool = True) -> Verdict:
    """The script's output, without its false passes. `closing`: with the hint at the end of its check."""
    system = distribution(facts)
    parts = [
        _driver(request, driver(request, facts, tools.driver)),
        _cuda(request, cuda_toolkit(request, facts, tools.cuda)),
        _toolkit(request, container_toolkit(request, facts, tools.toolkit)),
        _docker(request, facts, tools, system) if request.wants_docker else _Part(*kubernetes(facts, tools.kubernetes)),
    ]
    code = OK if all(part.satisfied for part in parts) else MISSING
    hint = closing_hint(request, system) if closing and code != OK else ()
    lines = (
        *(line for part in parts for line in part.lines),
        *_detected(system),
        *hint,
        *(line for part in parts for line in part.more),
        *beyond(report),
    )
    return Verdict(tuple(Line(line.mark, visible(line.text)) for line in lines), code)


def _driver(request: Request, found: PartState) -> _Part:
    wanted = request.minimums.driver
    if request.generation == "A":
        return _part(found, f"NVIDIA driver branch {wanted}", f"NVIDIA driver branch {wanted}")
    lacking = f"visible GPU with NVIDIA driver >= {wanted} (detected: {found.shown or 'none'})"
    return _part(found, f"NVIDIA driver {found.shown} >= {wanted}", lacking)


def _cuda(request: Request, found: PartState) -> _Part:
    wanted = request.minimums.cuda
    if request.generation == "A":
        at = f"CUDA Toolkit {wanted} at {request.cuda_path}"
        return _part(found, at, at)
    return _part(found, f"CUDA Toolkit {found.shown} >= {wanted}", f"CUDA Toolkit >= {wanted} (detected: {found.shown or 'none'})")


def _toolkit(request: Request, found: PartState) -> _Part:
    wanted, name = request.minimums.toolkit, "NVIDIA Container Toolkit"
    if request.generation == "A":
        return _part(found, f"{name} {wanted}", f"{name} {wanted}")
    return _part(found, f"{name} {found.shown} >= {wanted}", f"{name} >= {wanted} (detected: {found.shown or 'none'})")


def _part(found: PartState, passing: str, lacking: str) -> _Part:
    line = Line("OK", passing) if found.satisfied else Line("MISSING", lacking)
    return _Part((line,), _more(found.infos, found.warnings), found.satisfied)


def _docker(request: Request, facts: HostFacts, tools: Tools, system: Distribution) -> _Part:
    found = docker(facts, tools.docker)
    more = _more(found.infos, found.warnings)
    if not found.installed:
        return _Part((Line("MISSING", "Docker is not installed."), *docker_hint(request, system)), more, satisfied=False)
    if found.configured:
        return _Part((Line("OK", "Docker NVIDIA runtime configured"),), more)
    return _Part((Line("MISSING", "Docker NVIDIA runtime not configured or Docker unreachable"),), more, satisfied=False)


def _more(infos: tuple[str, ...], warnings: tuple[str, ...]) -> tuple[Line, ...]:
    return (*(Line("INFO", text) for text in infos), *(Line("WARN", text) for text in warnings))


def _detected(system: Distribution) -> tuple[Line, ...]:
    if not system.title:
        return ()
    if system.family == "unknown":
        return (Line("INFO", f"detected {system.title} (family=unknown — --install will print manual steps)"),)
    return (Line("INFO", f"detected {system.title} (family={system.family}, manager={system.manager})"),)
