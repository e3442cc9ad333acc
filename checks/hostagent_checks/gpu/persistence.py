"""The driver shuts the GPU down whenever no program uses it.

Then every job waits seconds for the GPU to start, settings are lost between jobs, and health tools wake the GPU each
time. The persistence daemon, or the older persistence mode, keeps it up. Without NVML the daemon's socket decides.
Many images of virtual machines come without the daemon, so there it is not required; in a container the host has its own.
"""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, skip
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform
from hostagent.profile import Profile

from ._judged import VFIO

_TURN_ON = (
    Step("configure", "Take --no-persistence-mode out of the daemon's unit.", "systemctl edit --full nvidia-persistenced.service"),
    Step("restart_service", "Restart the persistence daemon.", "systemctl restart nvidia-persistenced"),
)
_CALLED = {"vm": "virtual machine", "container": "container"}


@check(
    title="The GPU stays initialised between jobs",
    severity="warning",
    part="driver",
    since="0.1",
    because=("driver.persistenced", "driver.loaded"),
    headline="{device} is not kept initialised between jobs",
    remedy=(Step("restart_service", "Start the persistence daemon.", command="systemctl enable --now nvidia-persistenced"),),
    references=("NVIDIA Driver Persistence",),
    confirm=(
        "nvidia-smi -q -i <address> | grep 'Persistence Mode'",
        "systemctl status nvidia-persistenced.service",
    ),
)
def persistence(gpu: Gpu, driver: Driver, platform: Platform, profile: Profile) -> Findings:
    if not profile.gpus.persistence:
        skip("the profile does not ask for persistence")
    if isinstance(gpu.persistence, Unread) and gpu.persistence.why in NOT_APPLICABLE:
        if not need(driver.persistenced_socket):
            if not isinstance(gpu.bound_to, Unread) and gpu.bound_to == VFIO:
                skip("vfio-pci has the GPU, for a virtual machine")
            _on_a_board(platform)
            yield fail("the persistence daemon is not running (no socket)", code="no-daemon", found="no socket", wanted="running")
    elif not need(gpu.persistence):
        _on_a_board(platform)
        running = driver.persistenced_socket is True
        yield fail(
            f"persistence is off{', though the persistence daemon runs' if running else ''}",
            code="off",
            found="off",
            wanted="on",
            remedy=_TURN_ON if running else (),
        )


def _on_a_board(platform: Platform) -> None:
    if virtual := need(platform.virtual):
        skip(f"a {_CALLED[virtual]}, and nothing keeps its GPU initialised")
