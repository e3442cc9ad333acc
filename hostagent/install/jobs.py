"""Steps as the playbook takes them: with the places of files for this process, and the words that lead a program into the target."""

import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hostagent.core.errors import HostagentError
from hostagent.install.target import Target
from hostagent.plan.model import Key, Operation, PlanStep, Remove, Run, Write, plain_operation

#: What Jinja would take for its own.
_TEMPLATE = re.compile(r"\{[{%#]")
_KEY_MODE = 0o644
_UNLOADING = re.compile(r"(?:^|/)(?:rmmod|modprobe)$")


@dataclass(frozen=True)
class Job:
    """`steps` of one part. `keys`: the bytes of keyrings by their path in the target."""

    steps: tuple[PlanStep, ...]
    keys: Mapping[str, bytes]
    places: Mapping[str, str]  # of files, by their path in the target: looked up where its own /dev and /run are seen

    def laid(self, target: Target, place: str) -> dict[str, Any]:
        """For the playbook; what files get is laid below `place`."""
        listed = [
            {"id": step.id, "part": step.part, "state": "to-do", "do": [self._operation(one, target, place) for one in step.do]}
            for step in self.steps
        ]
        return {"resolved": True, "refusals": [], "steps": _untemplated(listed)}

    def _operation(self, one: Operation, target: Target, place: str) -> dict[str, Any]:
        ((kind, what),) = plain_operation(one).items()
        match one:
            case Run():
                where = {"where_at": target.path.rstrip("/") + one.where} if one.where else {}
                what |= {"enter": target.enter(one.timeout_s), **where}
            case Key():
                what |= {"at": self.places[one.path], "source": _laid(place, self.keys[one.path], _KEY_MODE)}
            case Write():
                del what["content"]
                what |= {"at": self.places[one.path], "source": _laid(place, one.content.encode(), one.mode)}
            case Remove():
                what |= {"at": self.places[one.path]}
        return {kind: what}

    @property
    def unloads(self) -> bool:
        """Whether a module is taken out of the kernel: nobody may ask the driver anything meanwhile."""
        runs = [one.argv for step in self.steps for one in step.do if isinstance(one, Run)]
        return any(_UNLOADING.search(argv[0]) and (argv[0].endswith("rmmod") or "-r" in argv or "--remove" in argv) for argv in runs)


def _laid(place: str, data: bytes, mode: int) -> str:
    """With the mode that the file gets: the copy takes its name with it, so that a kill in between leaves none that others cannot read."""
    descriptor, path = tempfile.mkstemp(dir=place)
    with open(descriptor, "wb") as stream:
        stream.write(data)
        os.fchmod(descriptor, mode)
    return path


def _untemplated(value: Any) -> Any:
    """A text of the plan is no template, whatever is in it."""
    if isinstance(value, dict):
        return {key: _untemplated(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_untemplated(one) for one in value]
    return {"__ansible_unsafe": value} if isinstance(value, str) and _TEMPLATE.search(value) else value


def written_paths(steps: Iterable[PlanStep]) -> tuple[str, ...]:
    """What the steps write, or remove, themselves."""
    return tuple(dict.fromkeys(one.path for step in steps for one in step.do if isinstance(one, Write | Key | Remove)))


def programs_of(steps: Iterable[PlanStep]) -> tuple[str, ...]:
    return tuple(one.argv[0] for step in steps for one in step.do if isinstance(one, Run))


def refuse_untrusted(programs: Iterable[str], target: Target) -> None:
    """Raises ``HostagentError`` for a program that others than root may have written."""
    for name in dict.fromkeys(programs):
        if why := target.refused_program(name):
            raise HostagentError(f"{name} is not run: {why}", "Make it root's alone, then run this again")


def places(steps: Iterable[PlanStep], target: Target) -> dict[str, str]:
    """Raises ``HostagentError`` where a link on the way leads nowhere."""
    return {path: target.inside(path) for path in written_paths(steps)}
