"""Owner or mode of a device node is not what the driver was told: users, or containers without root, cannot open the GPU.

The driver's own parameters (DeviceFileUID, DeviceFileGID, DeviceFileMode) say what nvidia-modprobe gives the nodes. Something
else changed them since, such as a udev rule or a script, and the next use resets or refuses them.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.facts.driver import Driver


@check(
    title="The device nodes have the owner and mode that the driver was told",
    severity="warning",
    since="0.1",
    headline="Device nodes have another owner or mode than the driver was told",
    remedy=(
        Step("configure", "Remove the udev rule or script that changes the nodes.", command="grep -rl nvidia /etc/udev/rules.d"),
        Step("configure", "Set the owner by the module's options NVreg_DeviceFileUID, -GID and -Mode."),
    ),
    references=("NVIDIA driver README, appendix on device file parameters", "/proc/driver/nvidia/params"),
    confirm=(
        "ls -l /dev/nvidia*",
        "grep DeviceFile /proc/driver/nvidia/params",
    ),
)
def device_permissions(driver: Driver) -> Findings:
    parameters = dict(need(driver.parameters))
    words = tuple(parameters.get(f"DeviceFile{name}", "") for name in ("UID", "GID", "Mode"))
    if not all(word.isdecimal() for word in words):
        need(Unread("error", "/proc/driver/nvidia/params has no owner and mode of device files"))
    if parameters.get("ModifyDeviceFiles") == "0":
        skip("the driver leaves its device files to others (ModifyDeviceFiles is 0)")
    wanted = (int(words[0]), int(words[1]), int(words[2]))
    nodes = need(driver.device_nodes)
    if not nodes:
        skip("there are no device nodes")
    for node in nodes:
        found = (node.uid, node.gid, node.mode)
        if found != wanted:
            texts = tuple(f"{uid}:{gid} {mode:04o}" for uid, gid, mode in (found, wanted))
            yield fail(f"{node.path} is {texts[0]}, the driver was told {texts[1]}", code="differs", found=texts[0], wanted=texts[1])
