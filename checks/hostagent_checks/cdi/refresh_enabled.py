"""The units that make the CDI specification at boot are not enabled: after the next boot there is none.

The toolkit's packages enable nothing when they are installed into an image, so nodes from such an image come up without a
specification. The service makes it at boot, the path unit makes it anew when a driver or the toolkit is installed.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.host import Services
from hostagent.profile import Profile

from ._specs import skip_without_cdi

_UNITS = ("nvidia-cdi-refresh", "nvidia-cdi-refresh.path")


@check(
    title="The CDI refresh units are enabled",
    severity="warning",
    since="0.1",
    headline="The CDI refresh units are not enabled",
    remedy=(
        Step(
            "restart_service",
            "Enable them; in an image with --root=<directory> and without --now.",
            command="systemctl enable --now nvidia-cdi-refresh.path nvidia-cdi-refresh.service",
        ),
    ),
    references=("NVIDIA Container Toolkit, CDI: automatic refresh", "systemctl(1), is-enabled"),
)
def refresh_enabled(services: Services, profile: Profile) -> Findings:
    skip_without_cdi(profile)
    for name in _UNITS:
        unit = need(services.unit(name))
        if need(unit.masked):
            yield fail(f"{name} is masked, wanted enabled", code="masked", found="masked", wanted="enabled")
        elif not need(unit.enabled):
            yield fail(f"{name} is {need(unit.state)}, wanted enabled", code="not-enabled", found=need(unit.state), wanted="enabled")
