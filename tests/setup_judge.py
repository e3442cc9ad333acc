"""The table of cases, judged: a small process of its own, because each of its many tools is a fork of who asks.

Its argument is a folder for the programs of all cases; it prints what is wrong.
"""

import os
import platform
import sys
from functools import cache
from pathlib import Path

from hostagent.cli.setup import command
from hostagent.cli.setuprequest import asked_for
from hostagent.engine.collect import READERS
from hostagent.engine.collection import InProcess
from hostagent.engine.pipeline import judge, policy_of, prepare
from hostagent.host.caller_tools import ToolRun, running_tools
from hostagent.host.recording import ReplayBackend
from hostagent.profiles import profile
from hostagent.setup import KINDS
from hostagent.setup.tools import Said, answered, asks
from hostagent.setup.verdict import verdict
from tests import recorded
from tests.setup_cases import CASES, READY, Case

NODE = platform.node()
#: Of the caller's own environment nothing but this reaches a case.
CLEAN = {"HOME": "/root", "LANG": "C.UTF-8", **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}}


@cache
def host(name):
    """Facts and report of a recorded host."""
    prepared = prepare(profile.load("default"))
    prepared = prepared._replace(kinds=(*READERS, *KINDS))
    tape = recorded.tape_of(name)
    reading = InProcess(ReplayBackend(tape), prepared.kinds, replayed=True, recorded_at=tape.recorded_at)
    collected = reading.collect(policy_of(prepared))
    return collected.facts, judge(collected, reading, prepared)


def _script(printed):
    if printed == "hang":
        return "while :; do :; done"
    if printed.startswith("exit "):
        return printed
    quoted = printed.replace("'", "'\\''")
    return f"printf '%s\\n' '{quoted}'"


def programs(folder: Path, named: "dict[str, str | None]") -> None:
    """`NAME ARGUMENT` is what the program says to that first argument."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in {name.partition(" ")[0] for name, printed in named.items() if printed is not None}:
        special = {key.partition(" ")[2]: text for key, text in named.items() if key.startswith(f"{name} ") and text is not None}
        branches = "".join(f'if [ "$1" = "{argument}" ]; then {_script(text)}; exit $?; fi\n' for argument, text in special.items())
        path = folder / name
        path.write_text(f"#!/bin/sh\n{branches}{_script(named.get(name) or '')}\n")
        path.chmod(0o755)


def laid(case: Case, folder: Path) -> dict[str, str]:
    """The programs of a case in their places; the environment that its caller has."""
    own = str(folder / "cuda 13's")
    said = {**READY, **case.tools}
    at_path = said.pop("{path}/bin/nvcc", READY["nvcc"])
    programs(folder / "bin", {name: printed and printed.replace("{node}", NODE) for name, printed in said.items()})
    if "{path}" in case.environment.values():
        programs(Path(own, "bin"), {"nvcc": at_path})
    return {**CLEAN, "PATH": str(folder / "bin"), **{name: value.replace("{path}", own) for name, value in case.environment.items()}}


def expected(case: Case, folder: Path) -> list[str]:
    return [line.replace("{path}", str(folder / "cuda 13's")) for line in case.lines]


def _answer(case: Case, environment: dict[str, str]):
    """What the tools say now, and what no-gpu-vm says itself."""
    os.environ.clear()
    os.environ.update(environment)
    context = command.make_context("setup", list(case.args))
    request = asked_for(context, None, context.params)
    with running_tools({key: ToolRun(*one) for key, one in asks(request).items()}, environment) as pending:
        heard = pending.answers()
    facts, report = host("no-gpu-vm")
    return verdict(request, facts, answered({key: Said(*one) for key, one in heard.items()}, (NODE,)), report)


def wrong(name: str, folder: Path) -> str:
    case = CASES[name]
    found = _answer(case, laid(case, folder))
    lines, more = list(map(str, found.lines[: len(case.lines)])), found.lines[len(case.lines) :]
    if (lines, found.exit) != (expected(case, folder), case.code):
        return f"{name}: found {found.exit} {lines}, wanted {case.code} {expected(case, folder)}"
    behind = "\n".join(map(str, more))
    return "" if case.tells in behind and {one.mark for one in more} <= {"INFO", "WARN"} else f"{name}: {case.tells!r} is not in {behind}"


if __name__ == "__main__":
    for number, each in enumerate(CASES):
        if told := wrong(each, Path(sys.argv[1], str(number))):
            sys.stdout.write(f"{told}\n")
