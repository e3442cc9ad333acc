"""The persistence daemon is installed to start at boot and has no socket: it died, or it never started.

GPUs are then initialised again at each first use, which takes seconds per GPU. Containers whose configuration mounts
/run/nvidia-persistenced/socket do not start at all.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.driver import Driver
from hostagent.facts.host import Services
from hostagent.profile import Profile


@check(
    title="The persistence daemon runs where it is enabled",
    severity="warning",
    since="0.1",
    because=("driver.loaded",),
    headline="The persistence daemon is enabled but does not run",
    remedy=(
        Step(
            "restart_service",
            "Restart it; 'journalctl -b -u nvidia-persistenced' says why it ended.",
            command="systemctl restart nvidia-persistenced",
        ),
    ),
    references=("nvidia-persistenced(1)",),
    confirm=(
        "systemctl status nvidia-persistenced.service",
        "ls -l /run/nvidia-persistenced/socket",
    ),
)
def persistenced(driver: Driver, services: Services, profile: Profile) -> Findings:
    if not profile.gpus.persistence:
        skip("the profile does not ask for persistence")
    if not need(driver.loaded):
        skip("the nvidia module is not loaded")
    if need(driver.persistenced_socket):
        return
    unit = next((one for one in need(services.units) if one.name == "nvidia-persistenced" and one.exists), None)
    if unit is None or not need(unit.enabled):
        skip("nvidia-persistenced is not enabled; gpu.persistence checks the mode itself")
    yield fail(
        "nvidia-persistenced is enabled, but has no socket", code="no-socket", found="none", wanted="/run/nvidia-persistenced/socket"
    )
