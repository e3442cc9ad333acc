"""The fabric manager has logged errors since it started: a switch, a link or a GPU that it could not bring up.

Where it names another driver version, it has refused to work at all.
"""

from hostagent.check import Findings, check, fail, need, warn
from hostagent.facts.nvswitch import Fabric
from hostagent.knowledge.fabric import MISMATCH

from ._switches import local_switches

_SHOWN = 5


@check(
    title="The fabric manager has logged no error since it started",
    severity="warning",
    since="0.1",
    remedy="Read /var/log/fabricmanager.log; restart the fabric manager after the cause is mended.",
    references=("NVIDIA Fabric Manager User Guide, sections Log and Error Handling",),
)
def manager_errors(fabric: Fabric) -> Findings:
    local_switches(fabric)
    errors = need(fabric.manager_log_errors)
    if any(MISMATCH in line for line in errors):
        yield fail("the fabric manager refuses the driver's version", code="version-mismatch", evidence=errors[-_SHOWN:])
    elif errors:
        yield warn(
            f"{len(errors)} errors in the fabric manager's log", code="errors", found=len(errors), wanted=0, evidence=errors[-_SHOWN:]
        )
