"""A device node of the driver is missing or has the wrong number: programs and containers cannot open that GPU.

The nodes are made by nvidia-modprobe, udev rules or the persistence daemon; a container runtime copies what is there at its start.
A driver container keeps them in its own /dev, below /run/nvidia/driver: there they count too. Where a setuid nvidia-modprobe is installed,
a missing node of a GPU comes with the first program that wants it, and its lack is only said.
"""

from hostagent.check import Findings, Severity, Step, check, fail, need, skip
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu

from ._container import path_inside
from ._nodes import come_on_demand

_MAJOR = 195
_CONTROL_MINOR = 255
_MODESET_MINOR = 254


@check(
    title="Each GPU has its device node, and so has the driver",
    severity="critical",
    since="0.1",
    because=("driver.loaded",),
    headline="A device node of the driver is missing or has a wrong number",
    remedy=(Step("restart_service", "Make the device nodes.", command="nvidia-modprobe -c <minor>"),),
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
            steps = (Step("restart_service", f"Make {path}.", _command(path, minor)),)
            at_most: Severity | None = "info" if come_on_demand(driver) else None
            yield fail(f"{path} is missing", code="missing", found="none", wanted=f"{major}:{minor}", remedy=steps, at_most=at_most)
        elif nodes[path] != (major, minor):
            found = f"{nodes[path][0]}:{nodes[path][1]}"
            steps = (Step("restart_service", f"Make {path} again.", f"rm {path} && {_command(path, minor)}"),)
            text = f"{path} is device {found}, the driver has {major}:{minor}"
            yield fail(text, code="wrong-number", found=found, wanted=f"{major}:{minor}", remedy=steps)


def _command(path: str, minor: int) -> str:
    """nvidia-modprobe makes the control device whatever it makes."""
    if path.endswith("-modeset"):
        return "nvidia-modprobe -m"
    return "nvidia-modprobe -c 0" if path.endswith("ctl") else f"nvidia-modprobe -c {minor}"
