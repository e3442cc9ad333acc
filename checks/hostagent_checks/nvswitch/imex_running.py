"""IMEX does not run: jobs over several nodes of one NVLink rack cannot share GPU memory, and fall back or fail."""

from hostagent.check import Findings, Step, check, fail
from hostagent.core.tables.nvlink_fabric import IMEX_PROCESS
from hostagent.facts.host import Machine
from hostagent.profile import Profile

from ._imex import skip_unless_required
from ._switches import runs


@check(
    title="IMEX runs",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("imex",),
    because=("nvswitch.imex_version", "nvswitch.imex_configured"),
    headline="IMEX is not running",
    remedy=(Step("restart_service", "Start IMEX; its log is /var/log/nvidia-imex.log.", command="systemctl enable --now nvidia-imex"),),
    references=("NVIDIA IMEX Service Guide",),
    confirm=(
        "systemctl status nvidia-imex.service",
        "nvidia-imex-ctl -N  # the state of each node of the domain",
    ),
)
def imex_running(machine: Machine, profile: Profile) -> Findings:
    skip_unless_required(profile)
    if not runs(machine, IMEX_PROCESS):
        yield fail("there is no nvidia-imex process", code="not-running", found="not running", wanted="running")
