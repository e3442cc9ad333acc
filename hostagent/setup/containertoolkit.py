"""The NVIDIA Container Toolkit: its package, else its program."""

from hostagent.core.unread import Unread
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.toolkit import Toolkit
from hostagent.setup import versions
from hostagent.setup.found import PartState, differs, failed, tool_line
from hostagent.setup.request import Request
from hostagent.setup.tool_output import Answered

_PART, _PACKAGE = "NVIDIA Container Toolkit", "nvidia-container-toolkit"
#: dpkg's states of a package that is unpacked and configured.
_INSTALLED = ("installed", "triggers-pending", "triggers-awaited")


def container_toolkit(request: Request, facts: HostFacts, tools: tuple[Answered, ...]) -> PartState:
    version, state = _host(facts)
    tool = next((one for one in tools if any(map(versions.read, one.versions))), None)
    reported = versions.lowest(filter(None, map(versions.read, tool.versions))) if tool else ""
    if version:
        warnings = [f"{_PART}: the package {_PACKAGE} is {state}"] if state else []
        if tool and not versions.same(reported, version):
            warnings.append(differs(_PART, version, tool, reported))
        return PartState(not state and _satisfies(request, version), version, (), tuple(warnings))
    if tool is None:
        return PartState(False, "", (), tuple(line for one in tools for line in failed(_PART, one)))
    return PartState(_satisfies(request, reported), reported, (tool_line(_PART, tool, reported),))


def _satisfies(request: Request, version: str) -> bool:
    wanted = request.minimums.toolkit
    return versions.same(version, versions.read(wanted)) if request.generation == "A" else versions.at_least(version, wanted)


def _host(facts: HostFacts) -> tuple[str, str]:
    """Its version, "" where the host has none; and dpkg's state where it is not wholly installed."""
    toolkit = facts.of(Toolkit)
    if isinstance(toolkit, Unread):
        return "", ""
    packages = () if isinstance(toolkit.packages, Unread) else toolkit.packages
    named = [one for one in packages if one.name == _PACKAGE]
    whole = [one for one in named if one.state in _INSTALLED]
    if named:
        one = (whole or named)[0]
        return versions.read(one.upstream), "" if whole else one.state
    return versions.read(toolkit.version), ""
