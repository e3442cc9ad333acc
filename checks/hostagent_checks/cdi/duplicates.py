"""Two files of one directory define the same CDI device: a runtime then takes neither, and the device does not exist.

Between directories there is no conflict, the later directory wins. A second generator, or a file that was renamed and made
again, usually leaves two.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.cdi import Cdi

from ._specs import valid_specs


@check(
    title="No CDI device is defined twice",
    severity="critical",
    since="0.1",
    because=("cdi.etc_copy",),
    headline="A CDI device is defined twice: no runtime resolves it",
    remedy=(
        Step("configure", "Remove one of the two files."),
        Step("rerun", "See whether the device is listed now, then run hostagent again.", command="nvidia-ctk cdi list"),
    ),
    references=("CDI library, cache.go: conflicting device",),
    confirm=(
        "nvidia-ctk cdi list",
        "grep -Hw kind /etc/cdi/* /var/run/cdi/*  # two files of one kind",
    ),
)
def duplicates(cdi: Cdi, choice: RuntimeChoice) -> Findings:
    valid_specs(cdi, choice)
    found = need(cdi.duplicates)
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        yield fail(f"{found[0]} is defined twice{more}", code="conflict", found=found[0], wanted="one definition", evidence=found[:20])
