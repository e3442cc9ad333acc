"""The NVIDIA driver and a GPU that it serves."""

from typing import NamedTuple

from hostagent.core.unread import Unread
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.platform import Platform
from hostagent.setup import versions
from hostagent.setup.found import PartState, differs, failed, tool_line
from hostagent.setup.request import Request
from hostagent.setup.tool_output import Answered

_PART = "NVIDIA driver"
#: NVML's code where its library could not be loaded, which proves nothing about the GPUs.
_NO_LIBRARY = 12


class _Host(NamedTuple):
    """The state by hostagent's own facts. `visible` None: unknown whether a GPU can be used."""

    version: str
    visible: bool | None
    silent: tuple[str, ...] = ()


def driver(request: Request, facts: HostFacts, tool: "Answered | None") -> PartState:
    """The lowest version of all GPUs counts, and a GPU that does not answer has none."""
    host = _host(facts)
    if host.visible is None:
        return _by_tool(request, host, tool)
    reported = versions.lowest(map(versions.read, tool.versions)) if tool else ""
    satisfied = host.visible and not host.silent and _satisfies(request, host.version)
    warnings = list(_silent(host.silent))
    if tool and reported and not versions.same(reported, host.version):
        warnings.append(differs(_PART, host.version or "no driver that serves a GPU", tool, reported))
    elif host.visible:
        warnings += failed(_PART, tool)
    return PartState(satisfied, host.version, (), tuple(warnings))


def _by_tool(request: Request, host: _Host, tool: "Answered | None") -> PartState:
    reported = versions.lowest(map(versions.read, tool.versions)) if tool else ""
    if tool is None or not reported:
        return PartState(False, host.version, (), failed(_PART, tool))
    version = host.version or reported
    warnings = [*_silent(tool.silent)]
    if host.version and not versions.same(host.version, reported):
        warnings.append(differs(_PART, host.version, tool, reported))
    if not tool.gpus:
        warnings.append(f"{_PART}: {tool.tool} -L shows no GPU")
    satisfied = tool.gpus > 0 and not tool.silent and _satisfies(request, version)
    what = f"a GPU with {version}" if tool.gpus else version
    return PartState(satisfied, version, (tool_line(_PART, tool, what),), tuple(warnings))


def _satisfies(request: Request, version: str) -> bool:
    wanted = request.minimums.driver
    return versions.of_branch(version, wanted) if request.generation == "A" else versions.at_least(version, wanted)


def _silent(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name} does not answer" for name in names)


def _host(facts: HostFacts) -> _Host:
    gpus, found = facts.of(Gpu), facts.of(Driver)
    if isinstance(found, Unread) or isinstance(gpus, Unread):
        return _Host("", None)
    version = versions.lowest(filter(None, map(versions.read, (_live(found), found.nvml_driver_version))))
    served = [one for one in gpus if one.in_nvml is True]
    if version and served:
        return _Host(version, True, tuple(_name(one) for one in gpus if _is_silent(one)))
    ours = [one for one in gpus if one.on_pci is True and _text(one.bound_to) in ("nvidia", "nouveau", "")]
    code = found.nvml_error_code
    if found.loaded is True and isinstance(code, int) and code != _NO_LIBRARY:
        return _Host(version, False)
    if found.loaded is False and ours and not _is_contained(facts):
        return _Host("", False)
    return _Host(version, None)


def _live(driver: Driver) -> "str | Unread":
    return driver.loaded_version if driver.loaded is True else ""


def _is_silent(gpu: Gpu) -> bool:
    """Whether the driver has the GPU, but NVML does not serve it; an excluded GPU does not count."""
    if gpu.excluded is True:
        return False
    return gpu.lost is True or (_text(gpu.bound_to) == "nvidia" and gpu.in_nvml is not True)


def _is_contained(facts: HostFacts) -> bool:
    platform = facts.of(Platform)
    return isinstance(platform, Unread) or platform.in_container or (isinstance(platform.gpus, Unread) or bool(platform.gpus.place))


def _name(gpu: Gpu) -> str:
    return f"GPU {gpu.pci}" if isinstance(gpu.index, Unread) else f"GPU {gpu.index} ({gpu.pci})"


def _text(value: "str | Unread") -> str:
    return "?" if isinstance(value, Unread) else value
