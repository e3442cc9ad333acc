"""Two files of one directory define the same CDI device: a runtime then takes neither, and the device does not exist.

Between directories there is no conflict: the later directory wins. The usual cause is a second generator, or a file
that was renamed and then made again.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.profile import Profile

from ._specs import valid_specs


@check(
    title="No CDI device is defined twice",
    severity="critical",
    since="0.1",
    because=("cdi.etc_copy",),
    headline="A CDI device is defined twice: no runtime resolves it",
    remedy=(Step("configure", "Remove one of the two files, then look at 'nvidia-ctk cdi list'."),),
    references=("CDI library, cache.go: conflicting device",),
    confirm=(
        "nvidia-ctk cdi list",
        "grep -Hw kind /etc/cdi/* /var/run/cdi/*  # two files of one kind",
    ),
)
def duplicates(cdi: Cdi, runtimes: tuple[Runtime, ...], launchers: Launchers, profile: Profile) -> Findings:
    valid_specs(cdi, runtimes, launchers, profile)
    found = need(cdi.duplicates)
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        yield fail(f"defined twice: {found[0]}{more}", code="conflict", found=found[0], wanted="one definition", evidence=found[:20])
