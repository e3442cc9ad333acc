"""A setting with a value that NCCL ignores, or reads as another one: it says so in no log.

Numbers are read up to the first character that is no digit: "on" and "true" are 0, which switches off what they were to switch on, and
"4M" is 4. Other words than the documented ones count as if nothing were set. In a conf file quotes and blanks belong to the value.
"""

from hostagent.check import Findings, Step, check, fail, warn
from hostagent.domains.nccl.tables.variables import variables
from hostagent.domains.nccl.values import fault
from hostagent.facts.nccl import Nccl

from ._job import job

#: A value that others look at, with what they know of the host.
_OTHERS = ("NCCL_NET",)


@check(
    title="NCCL reads the values of its settings as they are meant",
    severity="warning",
    scope="fabric",
    since="0.1",
    headline="NCCL does not read {found} as it is meant",
    remedy=(Step("configure", "Correct the value where it stands, or take the line out."),),
    references=("NCCL documentation, environment variables",),
    confirm=("grep -n NCCL /etc/nccl.conf",),
)
def values(nccl: Nccl) -> Findings:
    host = job(nccl)
    version = host.version()
    for name, setting in host.settings.items():
        if name not in variables() or name in _OTHERS:
            continue
        wrong = fault(variables()[name], setting.value, version)
        if wrong is None:
            continue
        shown = f"{name}={setting.value}"
        text = f"{shown}: NCCL {wrong.says}"
        evidence, steps = host.evidence(name), (host.without(name),)
        if wrong.code == "range":
            yield warn(text, code="range", found=shown, wanted=wrong.wanted, evidence=evidence, remedy=steps)
        else:
            yield fail(text, code=wrong.code, found=shown, wanted=wrong.wanted, evidence=evidence, remedy=steps)
