"""All mistakes in the files of a profile at once, each with file, line and key, and how to write it."""

# Lines and hints are looked up only where there is a mistake. Checking stops after 100 mistakes (difflib takes a millisecond
# per name); 20 are shown. Our own catalogue alone is imported for the ids of a wrong profile.

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hostagent.core.errors import HostagentError, at_once
from hostagent.core.typed import Mistake, dotted, shown
from hostagent.profiles.files import NEXT_STEP

_VERSIONS = {("driver", "version"), ("driver", "install"), ("toolkit", "version"), ("toolkit", "install"), ("cuda", "toolkit")}
_PROGRAMS = {("install", "before"), ("install", "after")}
#: Other YAML parsers read yes as true, and write it back so.
_YES_NO = {"true": "yes", "on": "yes", "false": "no", "off": "no"}
_OFF = 'write {off: "why"}: the reason is printed in every report'


class Place(NamedTuple):
    """A sentence with its layer and line; line 0 if unknown."""

    layer: str
    line: int
    sentence: str

    @property
    def key(self) -> str:
        return self.sentence.partition(": ")[0]

    @property
    def text(self) -> str:
        return f"{self.layer}:{self.line}: {self.sentence}" if self.line else f"profile {self.layer}: {self.sentence}"


class ProfileError(HostagentError):
    """All mistakes of a profile. `rest` is the profile without them, where one can be built."""

    def __init__(self, places: Iterable[Place], rest: Any = None, next_step: str = NEXT_STEP) -> None:
        self.places = tuple(dict.fromkeys(places))
        self.rest = rest
        layers = list(dict.fromkeys(one.layer for one in self.places))
        ordered = sorted(self.places, key=lambda one: (layers.index(one.layer), one.line))
        message, details = at_once((one.text for one in ordered), "found {} mistakes in the profile:")
        super().__init__(message, next_step, details)


def placed(layer: str, raw: bytes, mistakes: Iterable[Mistake]) -> list[Place]:
    """The mistakes of one layer. `raw` is its file, empty for one that is none."""
    mistakes = tuple(mistakes)
    if not mistakes:
        return []
    lines: Mapping[tuple[Any, ...], tuple[int, str]] = {}
    if raw:
        from hostagent.core.yamlfile import places  # only where there is a mistake

        lines = places(raw)
    return [_placed(layer, lines, one) for one in mistakes]


def _placed(layer: str, lines: Mapping[tuple[Any, ...], tuple[int, str]], mistake: Mistake) -> Place:
    path = mistake.path
    while path and path not in lines:
        path = path[:-1]
    line, text = lines.get(path, (0, ""))
    hint = _hint(mistake.path, mistake.value, text if path == mistake.path else "")
    problem = hint or mistake.problem
    # some problems name their key themselves
    return Place(layer, line, problem if _names_itself(mistake) else f"{dotted(mistake.path)}: {problem}")


def _names_itself(mistake: Mistake) -> bool:
    return not mistake.path or mistake.problem.startswith(("no check ", "schema_version is "))


def _hint(path: tuple[Any, ...], value: Any, text: str) -> str:
    """The right form of a common mistake, "" for others. `text` is the value in the file."""
    if path in _VERSIONS and isinstance(value, int | float) and not isinstance(value, bool):
        text = text or str(value)
        branch = ".*" if path[-1] != "install" and "." not in text else ""
        return f'found the number {text}; quote it: {path[-1]}: "{text}{branch}"'
    if value is ...:
        return ""
    if path == ("rdma", "required") and str(value).lower() in _YES_NO:
        return f'found {shown(value)}; write required: "{_YES_NO[str(value).lower()]}"'
    if path == ("rdma", "hcas") and isinstance(value, list | tuple) and value:
        return f'found the list {shown(value)}; write one text, as NCCL_IB_HCA has it: hcas: "=mlx5_0,mlx5_1"'
    if path[:2] in _PROGRAMS and len(path) < 4 and isinstance(value, str):
        return f"found {shown(value)}; write a list of programs, each with its arguments: {path[1]}: [[kubectl, drain, node-1]]"
    is_off = path[:1] == ("checks",) and (len(path) == 2 or path[2:] == ("off",))
    return f"found {shown(value)}; {_OFF}" if is_off and not isinstance(value, dict | list) else ""
