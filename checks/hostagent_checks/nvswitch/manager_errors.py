"""The fabric manager has logged errors since it started: it could not bring up a switch, a link or a GPU.

Where it names another driver version, it has refused to work at all. Where it has errors and never said that GPUs and switches are set
up, it runs on without having done its work (FM_STAY_RESIDENT_ON_FAILURES), and CUDA fails with error 802, unless every GPU says that
it has joined the fabric. GPUs of A100 boards do not say it. Errors after that only warn.
"""

from hostagent.check import Findings, Step, Unread, check, counted, fail, need, warn
from hostagent.core.tables.nvlink_fabric import CONFIGURED, MISMATCH
from hostagent.facts.gpu import Gpu
from hostagent.facts.nvswitch import Fabric

from ._switches import local_switches

_SHOWN = 5


@check(
    title="The fabric manager has logged no error since it started",
    severity="critical",
    since="0.1",
    explains=("nvlink",),
    because=("nvswitch.manager_version",),
    headline="The fabric manager has not set up the NVLink fabric",
    remedy=(
        Step("configure", "Correct what the log names.", command="grep -i error /var/log/fabricmanager.log"),
        Step("restart_service", "Restart the fabric manager.", command="systemctl restart nvidia-fabricmanager"),
    ),
    references=("NVIDIA Fabric Manager User Guide, sections Log, Error Handling and Fabric Manager Config Options",),
    confirm=(
        "journalctl -b -u nvidia-fabricmanager.service",
        "tail -n 50 /var/log/fabricmanager.log",
    ),
)
def manager_errors(fabric: Fabric, gpus: tuple[Gpu, ...]) -> Findings:
    local_switches(fabric)
    errors = need(fabric.manager_log_errors)
    shown = errors[-_SHOWN:]
    if any(MISMATCH in line for line in errors):
        yield fail("the fabric manager refuses to work with the loaded driver's version", code="version-mismatch", evidence=shown)
    elif errors and not isinstance(fabric.manager_configured, Unread) and not fabric.manager_configured and not _all_joined(gpus):
        text = f"{counted(len(errors), 'error')} in the fabric manager's log, and it has not set up the GPUs and switches"
        yield fail(text, code="not-configured", found=counted(len(errors), "error"), wanted=f"'{CONFIGURED} …' in its log", evidence=shown)
    elif errors:
        headline = "The fabric manager has logged errors"
        yield warn(
            f"{counted(len(errors), 'error')} in the fabric manager's log",
            code="errors",
            found=len(errors),
            wanted=0,
            headline=headline,
            evidence=shown,
        )


def _all_joined(gpus: tuple[Gpu, ...]) -> bool:
    states = [None if isinstance(gpu.fabric, Unread) else (gpu.fabric.state, gpu.fabric.status) for gpu in gpus]
    return bool(states) and all(one == ("completed", 0) for one in states)
