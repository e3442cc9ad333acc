"""Somebody else replaces this operating system as a whole: what is installed by hand is gone after the next update.

No verdict depends on this. Install no packages over it: choose a driver in the way that the owner
offers.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.platform import Platform


@check(
    title="The operating system is this host's own to change",
    severity="info",
    since="0.1",
    headline="A vendor or an image service replaces this operating system",
    remedy=(Step("none", "Choose the driver and the toolkit in the settings of the system's owner, or let the GPU Operator bring them."),),
    references=("os-release(5)", "NVIDIA GPU Operator, platform support"),
    confirm=("cat /etc/os-release",),
)
def managed(platform: Platform) -> Findings:
    owner = need(platform.name)
    if owner:
        yield fail(f"{owner} manages this system, wanted a system that packages change", code="managed", found=owner, wanted="nobody")
