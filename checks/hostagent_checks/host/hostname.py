"""The host has no name of its own, so reports, labels and Slurm cannot tell it from others.

Images that were never given a name call themselves ``localhost``; a cluster in which two nodes do so mixes their verdicts.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.host import Identity

_NAMELESS = ("", "localhost", "localhost.localdomain", "(none)")


@check(
    title="The host has a name of its own",
    severity="warning",
    since="0.1",
    headline="The host has no name of its own",
    remedy=(Step("configure", "Name the host.", command="hostnamectl set-hostname <name>"),),
    references=("hostname(5)",),
    confirm=("hostnamectl",),
)
def hostname(identity: Identity) -> Findings:
    name = need(identity.hostname)
    if name in _NAMELESS:
        yield fail(
            f"the host's name is {name}" if name else "the host has no name",
            code="nameless",
            found=name or "no name",
            wanted="a name of its own",
        )
