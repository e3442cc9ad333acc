"""There is no IMEX channel device: a program has nothing to open through which it could share memory across nodes."""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.nvswitch import Fabric
from hostagent.profile import Profile

from ._imex import skip_unless_required


@check(
    title="An IMEX channel exists",
    severity="critical",
    scope="fabric",
    since="0.1",
    headline="There is no IMEX channel",
    remedy=(
        Step("configure", "Put 'options nvidia NVreg_CreateImexChannel0=1' into /etc/modprobe.d/nvidia-imex.conf, for every boot."),
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
        yield fail("no channel below /dev/nvidia-caps-imex-channels", code="none", found="none", wanted="channel0")
