"""hostagent recognises the platform and does not know where it keeps the driver, so it cannot look at it.

The checks of these parts do not apply; all others count. The host is unknown, never ready because something was not looked at.
"""

from hostagent.check import Findings, Step, check, need
from hostagent.facts.platform import Platform
from hostagent.facts.unread import Unread


@check(
    title="The places of the driver on this platform are known",
    severity="critical",
    since="0.1",
    headline="Where this platform keeps its driver is not known to hostagent",
    remedy=(
        Step(
            "configure",
            "Check GPU jobs by other means and turn this check off in the site file; or ask for the platform at the project's issues.",
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
        need(Unread("error", f"{name}: where it keeps the driver is not known"))
    return
    yield
