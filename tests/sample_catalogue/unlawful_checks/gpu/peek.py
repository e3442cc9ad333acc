"""Reads the host behind the back of the facts."""

from hostagent.check import Findings, check, fail
from hostagent.facts.host import Machine


@check(title="The host has a name", severity="info", since="1.0", remedy="Name it.", references=("none",))
def peek(machine: Machine) -> Findings:
    with open("/etc/hostname", encoding="utf-8") as stream:
        if not stream.read():
            yield fail("no name", code="none")
