"""A CDI specification names files that this host does not have: every container that asks for the device fails to start.

The runtime says "error stat'ing file …: no such file or directory". A driver that was upgraded or removed after the
specification was made leaves it like this.
"""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.cdi import Cdi
from hostagent.profile import Profile

from ._specs import valid_specs


@check(
    title="Every file that the CDI specifications name exists",
    severity="critical",
    since="0.1",
    remedy="Once the driver answers (see the driver findings), run 'systemctl restart nvidia-cdi-refresh.service'.",
    references=("CDI specification, SPEC.md: hostPath", "NVIDIA Container Toolkit issue 1239"),
)
def missing_paths(cdi: Cdi, profile: Profile) -> Findings:
    for spec in valid_specs(cdi, profile):
        missing = need(spec.missing_paths)
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            yield fail(
                f"{spec.path} names {missing[0]}{more}, which do not exist",
                code="missing",
                found=missing[0],
                wanted="every file exists",
                evidence=missing[1:20],
                remedy="Delete this copy: the one in /var/run/cdi is remade at each boot." if spec.path.startswith("/etc/") else "",
            )
