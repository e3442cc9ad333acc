"""cloud-init is still running on this node: drivers, users and mounts of the first boot may not be there yet.

A host in this state for more than some minutes has a hung first-boot script.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.host import Machine


@check(
    title="cloud-init has finished",
    severity="warning",
    since="0.1",
    headline="cloud-init is still running",
    remedy=(Step("rerun", "Wait for cloud-init; /var/log/cloud-init-output.log says where it hangs.", command="cloud-init status --wait"),),
    references=("cloud-init documentation, boot stages and status",),
    confirm=("cloud-init status --long",),
)
def cloud_init(machine: Machine) -> Findings:
    if need(machine.cloud_init_running):
        yield fail("cloud-init is running", code="running", found="running", wanted="finished")
