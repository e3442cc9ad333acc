"""What counts of a part of the host: what hostagent reads itself, else what the tool that the script would ask answers."""

from typing import NamedTuple

from hostagent.setup.tool_output import Answered


class PartState(NamedTuple):
    """One part, as it counts here."""

    satisfied: bool
    shown: str = ""  # the version that was found, as a line says it; "" none
    infos: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def says(tool: Answered) -> str:
    """Which program it is: its name, and where the caller's PATH has it."""
    return f"{tool.tool} ({tool.path})" if tool.path and tool.path != tool.tool else tool.tool


def tool_line(part: str, tool: Answered, what: str) -> str:
    """The line that names the tool whose answer counts."""
    return f"{part}: {what} is what {says(tool)} says, nothing that hostagent reads itself shows it"


def failed(part: str, tool: "Answered | None") -> tuple[str, ...]:
    """A tool that is there and has no answer to give."""
    return (f"{part}: {says(tool)} gave no answer: {tool.problem}",) if tool and tool.path and tool.problem else ()


def differs(part: str, host: str, tool: Answered, reported: str) -> str:
    return f"{part}: found {host} on the host itself, {says(tool)} says {reported}; the host counts"
