"""A device node of the driver is missing or has the wrong number: programs and containers cannot open that GPU.

The nodes are made by nvidia-modprobe, udev rules or the persistence daemon; a container runtime copies what is there at its start.
A driver container keeps them in its own /dev, below /run/nvidia/driver: there they count too.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu

from ._container import path_inside

_MAJOR = 195
_CONTROL_MINOR = 255
_MODESET_MINOR = 254


@check(
    title="Each GPU and the control device have their device nodes",
    severity="critical",
    since="0.1",
    because=("driver.loaded",),
    headline="Device nodes of GPUs are missing",
    remedy=(
        Step(
            "restart_service",
            "Make them ('nvidia-smi' as root does), and let nvidia-persistenced start at boot.",
            command="nvidia-modprobe -c <minor>",
        ),
    ),
    references=("Linux kernel, Documentation/admin-guide/devices.txt, major 195", "nvidia-modprobe(1)"),
    confirm=(
        "ls -l /dev/nvidia*",
        "grep 'Device Minor' /proc/driver/nvidia/gpus/*/information",
    ),
)
def device_nodes(driver: Driver, gpus: tuple[Gpu, ...]) -> Findings:
    if not need(driver.loaded):
        skip("the nvidia module is not loaded")
    nodes = {path_inside(node.path): (node.major, node.minor) for node in need(driver.device_nodes)}
    wanted = {"/dev/nvidiactl": (_MAJOR, _CONTROL_MINOR)}
    if "/dev/nvidia-modeset" in nodes:
        wanted["/dev/nvidia-modeset"] = (_MAJOR, _MODESET_MINOR)
    for gpu in gpus:
        if need(gpu.in_proc) and not need(gpu.excluded):
            minor = need(gpu.minor)
            wanted[f"/dev/nvidia{minor}"] = (_MAJOR, minor)
    for path, (major, minor) in wanted.items():
        if path not in nodes:
            yield fail(f"{path} is missing", code="missing", found="none", wanted=f"{major}:{minor}")
        elif nodes[path] != (major, minor):
            found = f"{nodes[path][0]}:{nodes[path][1]}"
            yield fail(f"{path} is device {found}, wanted {major}:{minor}", code="wrong-number", found=found, wanted=f"{major}:{minor}")
