"""The nodes of nvidia-uvm have another major number than the kernel gave the module: cuInit ends with error 999.

That number is dynamic: it can differ after each load. Nodes that were made by hand, by a boot script or by an image keep an old one.
Where a setuid nvidia-modprobe is installed, missing nodes come with the first program that wants them, and their lack is only said.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.driver import Driver

from ._container import path_inside
from ._nodes import come_on_demand

_MAKE = (Step("restart_service", "Make the device nodes.", "nvidia-modprobe -c0 -u"),)


@check(
    title="The device nodes of nvidia-uvm have the kernel's major number",
    severity="critical",
    since="0.1",
    headline="The device nodes of nvidia-uvm have the wrong major number",
    remedy=(
        Step(
            "restart_service",
            "Remove the nodes and make them again.",
            command="rm -f /dev/nvidia-uvm /dev/nvidia-uvm-tools && nvidia-modprobe -c0 -u",
        ),
    ),
    references=("proc_devices(5)", "NVIDIA/nvidia-container-toolkit issue 1934"),
    confirm=(
        "ls -l /dev/nvidia-uvm /dev/nvidia-uvm-tools",
        "grep nvidia-uvm /proc/devices",
    ),
)
def device_majors(driver: Driver) -> Findings:
    major = dict(need(driver.char_majors)).get("nvidia-uvm", -1)
    nodes = [node for node in need(driver.device_nodes) if path_inside(node.path).startswith("/dev/nvidia-uvm")]
    if major < 0 and not nodes:
        skip("nvidia_uvm is not loaded and has no nodes")
    if not nodes:
        message, headline = "nvidia_uvm is loaded, but /dev/nvidia-uvm is missing", "The device nodes of nvidia-uvm are missing"
        on_demand = need(driver.nodes_on_demand) and come_on_demand(driver)
        yield fail(
            message,
            code="missing",
            found="none",
            wanted=f"major {major}",
            remedy=_MAKE,
            headline=headline,
            at_most="info" if on_demand else None,
        )
    for node in nodes:
        if node.major != major:
            wanted = f"major {major}" if major >= 0 else "no node: nvidia_uvm is not loaded"
            yield fail(
                f"{node.path} has major {node.major}, the kernel has {major if major >= 0 else 'none'}",
                code="wrong-major",
                found=node.major,
                wanted=wanted,
            )
