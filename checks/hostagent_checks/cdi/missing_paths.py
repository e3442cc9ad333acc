"""A CDI specification names files that this host does not have: every container that asks for the device fails to start.

The runtime says "error stat'ing file …: no such file or directory". A driver that was upgraded or removed after the
specification was made leaves it like this.
"""

from hostagent.check import Findings, Unread, check, fail, need, warn
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.domains.runtime.tables.cdi_versions import RENEW
from hostagent.facts.cdi import Cdi
from hostagent.facts.gpu import Gpu

from ._specs import others_cover, valid_specs, without_copy


@check(
    title="Every file that the CDI specifications name exists",
    severity="critical",
    since="0.1",
    because=("driver.library_match", "cdi.driver_version", "kernel.module_present"),
    headline="A CDI specification names files that do not exist",
    remedy=(RENEW,),
    references=("CDI specification, SPEC.md: hostPath", "NVIDIA Container Toolkit issue 1239"),
    confirm=(
        "grep -ho 'hostPath: .*' /etc/cdi/*.yaml /var/run/cdi/*.yaml | cut -d' ' -f2 | xargs ls -d >/dev/null  # prints what is missing",
    ),
)
def missing_paths(cdi: Cdi, gpus: tuple[Gpu, ...] | Unread, choice: RuntimeChoice) -> Findings:
    specs = valid_specs(cdi, choice)
    for spec in specs:
        missing = need(spec.missing_paths)
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            whole = tuple(one for one in specs if not isinstance(one.missing_paths, Unread) and not one.missing_paths)
            say = warn if others_cover(spec, whole, gpus, cdi) else fail
            yield say(
                f"{spec.path} names {missing[0]}{more}, which {'do' if more else 'does'} not exist",
                code="missing",
                found=missing[0],
                wanted="every file exists",
                evidence=missing[1:20],
                remedy=(*without_copy(spec.path), RENEW),
            )
