"""There is no IMEX channel device: programs cannot share memory across nodes."""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.driver.boot import write_line
from hostagent.facts.nvswitch import Fabric
from hostagent.profile import Profile

from ._imex import skip_unless_required


@check(
    title="An IMEX channel exists",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("imex",),
    headline="There is no IMEX channel",
    remedy=(
        Step(
            "configure",
            "Make the channel at each boot.",
            command=write_line("/etc/modprobe.d/nvidia-imex.conf", "options nvidia NVreg_CreateImexChannel0=1"),
        ),
        Step("restart_service", "Make the channel now.", command="nvidia-modprobe -i 0:1"),
    ),
    references=("NVIDIA IMEX Service Guide, section IMEX Channels",),
    confirm=(
        "ls -l /dev/nvidia-caps-imex-channels",
        "grep imex /proc/devices",
    ),
)
def imex_channels(fabric: Fabric, profile: Profile) -> Findings:
    skip_unless_required(profile)
    if not any(name.startswith("channel") for name in need(fabric.imex_channels)):
        yield fail("/dev/nvidia-caps-imex-channels has no channel", code="none", found="none", wanted="channel0")
