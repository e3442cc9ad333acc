"""The units that make the CDI specification at boot are not enabled: after the next boot there is none.

The toolkit's packages enable nothing when they are installed into an image, so nodes from such an image come up without a
specification. The service makes it at boot, the path unit makes it again when a driver or the toolkit is installed.
It counts where containers get GPUs by that specification alone, and is information where the runtime gives them in another way, too.
"""

from typing import Literal

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.runtime.access import GpuAccess
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.host import Services
from hostagent.profile import Profile

from ._refresh import is_spare
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
            "Enable the units; in an image without --now.",
            command="systemctl enable --now nvidia-cdi-refresh.path nvidia-cdi-refresh.service",
        ),
    ),
    references=("NVIDIA Container Toolkit, CDI: automatic refresh", "systemctl(1), is-enabled"),
    confirm=("systemctl is-enabled nvidia-cdi-refresh.path nvidia-cdi-refresh.service",),
)
def refresh_enabled(services: Services, choice: RuntimeChoice, access: GpuAccess, profile: Profile) -> Findings:
    skip_without_cdi(profile)
    units = [need(services.unit(name)) for name in _UNITS]
    idle = [unit for unit in units if need(unit.masked) or not need(unit.enabled)]
    weight: Literal["info"] | None = "info" if idle and is_spare(choice, access) else None
    for unit in idle:
        found, code = ("masked", "masked") if need(unit.masked) else (need(unit.state), "not-enabled")
        yield fail(f"{unit.name} is {found}", code=code, found=found, wanted="enabled", at_most=weight)
