"""There is no NVIDIA driver for this CPU architecture.

The Linux driver of the current branches is built for x86_64 and aarch64. A node of another kind is in the wrong pool.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.system.distributions import ARCHITECTURES
from hostagent.facts.os import Os


@check(
    title="NVIDIA has a driver for this CPU architecture",
    severity="critical",
    since="0.1",
    headline="There is no NVIDIA driver for this CPU architecture",
    remedy=(Step("contact_owner", "Take the node out of the GPU pool."),),
    references=("NVIDIA Driver Installation Guide, supported architectures",),
    confirm=("uname -m",),
)
def architecture(os: Os) -> Findings:
    found = need(os.arch)
    if found not in ARCHITECTURES:
        wanted = " or ".join(ARCHITECTURES)
        yield fail(
            f"the architecture is {found}, and NVIDIA's driver needs {wanted}", code="other-architecture", found=found, wanted=wanted
        )
