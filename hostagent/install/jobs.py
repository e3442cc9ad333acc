"""Steps as the playbook takes them: with the paths of files for this process, and the command that runs a program in the target."""

import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hostagent.core.errors import HostagentError
from hostagent.install.target import Target
from hostagent.plan.model import Key, Operation, PlanStep, Remove, Run, Write, plain_operation

#: The beginning of a Jinja template.
_TEMPLATE = re.compile(r"\{[{%#]")
_KEY_MODE = 0o644
_UNLOADING = re.compile(r"(?:^|/)(?:rmmod|modprobe)$")


@dataclass(frozen=True)
class Job:
    """`steps` of one part. `keys`: the bytes of keyrings by their path in the target."""

    steps: tuple[PlanStep, ...]
    keys: Mapping[str, bytes]
    places: Mapping[str, str]  # of files, by their path in the target: looked up where its own /dev and /run are seen

    def for_playbook(self, target: Target, place: str) -> dict[str, Any]:
        """Variables of the playbook; contents of files are written below `place`."""
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
                what |= {"at": self.places[one.path], "source": _temporary_file(place, self.keys[one.path], _KEY_MODE)}
            case Write():
                del what["content"]
                what |= {"at": self.places[one.path], "source": _temporary_file(place, one.content.encode(), one.mode)}
            case Remove():
                what |= {"at": self.places[one.path]}
        return {kind: what}

    @property
    def unloads(self) -> bool:
        """Whether a kernel module is unloaded, during which the driver must not be queried."""
        runs = [one.argv for step in self.steps for one in step.do if isinstance(one, Run)]
        return any(_UNLOADING.search(argv[0]) and (argv[0].endswith("rmmod") or "-r" in argv or "--remove" in argv) for argv in runs)


def _temporary_file(place: str, data: bytes, mode: int) -> str:
    """A temporary file with the final mode: a copy that is killed half-way then has no wrong mode."""
    descriptor, path = tempfile.mkstemp(dir=place)
    with open(descriptor, "wb") as stream:
        stream.write(data)
        os.fchmod(descriptor, mode)
    return path


def _untemplated(value: Any) -> Any:
    """Mark texts of the plan as unsafe, so that Ansible evaluates no template in them."""
    if isinstance(value, dict):
        return {key: _untemplated(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_untemplated(one) for one in value]
    return {"__ansible_unsafe": value} if isinstance(value, str) and _TEMPLATE.search(value) else value


def written_paths(steps: Iterable[PlanStep]) -> tuple[str, ...]:
    """Paths that the steps write or remove themselves."""
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
