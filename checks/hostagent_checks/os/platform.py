"""hostagent recognises this platform, but does not know where it keeps the driver, so it cannot look at it.

The checks of these parts do not apply then, all others count. The host is unknown: what was not looked at makes no host ready.
"""

from hostagent.check import Findings, Step, Unread, check, need
from hostagent.facts.platform import Platform


@check(
    title="hostagent knows where this platform keeps the driver",
    severity="critical",
    since="0.1",
    headline="hostagent does not know where this platform keeps its driver",
    remedy=(
        Step(
            "configure",
            "Check GPU jobs by other means, and turn this check off in the site file.",
        ),
    ),
    references=("Microsoft, GPU support in WSL", "NVIDIA Jetson Linux, Release Notes"),
    confirm=(
        "cat /etc/os-release",
        "uname -r",
    ),
)
def platform(platform: Platform) -> Findings:
    name, part = need(platform.name), need(platform.driver)
    if part.place == "?":
        need(Unread("error", f"where {name} keeps the driver is not known"))
    return
    yield
