"""Device nodes of the driver exist while its module is not loaded: runtimes hand them to containers, which fail inside.

Starting NVML as root without a loaded module leaves /dev/nvidiactl behind, so one call of nvidia-smi is enough.
"""

from hostagent.check import Findings, Step, check, fail, first_of, need
from hostagent.facts.driver import Driver


@check(
    title="There are no device nodes of a driver that is not loaded",
    severity="warning",
    since="0.1",
    because=("driver.loaded",),
    headline="There are device nodes of a driver that is not loaded",
    remedy=(Step("restart_service", "Load the module, or remove the nodes below /dev.", command="modprobe nvidia"),),
    references=("nvidia-modprobe(1)",),
    confirm=(
        "ls -l /dev/nvidia*",
        "lsmod | grep nvidia  # prints nothing: no driver is loaded",
    ),
)
def device_nodes_stale(driver: Driver) -> Findings:
    if need(driver.loaded):
        return
    paths = tuple(node.path for node in need(driver.device_nodes))
    if paths:
        yield fail("there are device nodes, but the nvidia module is not loaded", code="stale", found=first_of(paths), wanted="none")
