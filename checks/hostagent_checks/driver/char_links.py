"""/dev/char has no links to the driver's nodes. With older runc and systemd's cgroups, containers then lose their GPUs.

After 'systemctl daemon-reload' NVML says "Unknown Error" in a container that worked until then: systemd resolves allowed devices through
/dev/char, where the driver registers nothing. Containers that get their GPUs by CDI, and current runc, are not affected.
"""

from hostagent.check import Findings, Step, check, counted, fail, first_of, need, skip
from hostagent.facts.driver import Driver


@check(
    title="/dev/char has links to the driver's device nodes",
    severity="info",
    since="0.1",
    headline="/dev/char lacks links to the driver's device nodes",
    remedy=(
        Step(
            "configure",
            "Make the links; a udev rule can do that at each boot.",
            command="nvidia-ctk system create-dev-char-symlinks --create-all",
        ),
    ),
    references=("NVIDIA Container Toolkit, section Troubleshooting: containers losing access to GPUs",),
    confirm=("ls -l /dev/char | grep nvidia",),
)
def char_links(driver: Driver) -> Findings:
    nodes = need(driver.device_nodes)
    if not nodes:
        skip("there are no device nodes")
    links = need(driver.char_links)
    missing = tuple(node.path for node in nodes if f"{node.major}:{node.minor}" not in links)
    if missing:
        found, wanted = counted(len(links), "link"), counted(len(nodes), "link")
        yield fail(f"/dev/char has {found}, and none to {first_of(missing)}", code="missing", found=found, wanted=wanted)
