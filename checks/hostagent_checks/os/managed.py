"""A vendor or an image service replaces this operating system as a whole: what is installed by hand is lost at the next update.

The verdict does not depend on it. Do not install packages over it: choose the driver in the way that its owner
provides.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.platform import Platform


@check(
    title="No vendor or image service replaces this operating system",
    severity="info",
    since="0.1",
    headline="A vendor or an image service replaces this operating system",
    remedy=(Step("none", "Choose driver and toolkit as the system's owner provides, or with the GPU Operator."),),
    references=("os-release(5)", "NVIDIA GPU Operator, platform support"),
    confirm=("cat /etc/os-release",),
)
def managed(platform: Platform) -> Findings:
    owner = need(platform.name)
    if owner:
        yield fail(f"{owner} is updated as a whole, not by packages", code="managed", found=owner, wanted="nobody")
