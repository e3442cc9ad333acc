"""State of a part of the host: from hostagent's facts, else from the tool that the script would run."""

from typing import NamedTuple

from hostagent.setup.tool_output import Answered


class PartState(NamedTuple):
    """The state of one part."""

    satisfied: bool
    shown: str = ""  # the version that was found, as a line says it; "" none
    infos: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def says(tool: Answered) -> str:
    """The name of the program, and its path by the caller's PATH."""
    return f"{tool.tool} ({tool.path})" if tool.path and tool.path != tool.tool else tool.tool


def tool_line(part: str, tool: Answered, what: str) -> str:
    """The line that names the tool as the source."""
    return f"{part}: {what} is what {says(tool)} says, nothing that hostagent reads itself shows it"


def failed(part: str, tool: "Answered | None") -> tuple[str, ...]:
    """The line about a tool that exists and gave no answer."""
    return (f"{part}: {says(tool)} gave no answer: {tool.problem}",) if tool and tool.path and tool.problem else ()


def differs(part: str, host: str, tool: Answered, reported: str) -> str:
    return f"{part}: found {host} on the host itself, {says(tool)} says {reported}; the host counts"
