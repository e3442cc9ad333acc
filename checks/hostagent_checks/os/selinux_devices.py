"""SELinux keeps confined containers away from GPU devices: inside them NVML says "Insufficient Permissions".

It matters where the runtime labels its containers: CRI-O and podman do, containerd and docker only when told to. The
boolean opens the devices to all containers; a policy module for the GPU, or ``label=disable`` for one container, are narrower.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.os import Os


@check(
    title="SELinux lets containers use devices",
    severity="info",
    since="0.1",
    because=("runtime.selinux",),
    headline="SELinux does not let containers use devices",
    remedy=(Step("configure", "Allow it, or give the GPU containers their own label.", command="setsebool -P container_use_devices on"),),
    references=("NVIDIA Container Toolkit, troubleshooting: Insufficient Permissions", "container_selinux(8)"),
    confirm=(
        "getenforce",
        "getsebool container_use_devices",
        "ausearch -m avc -ts boot",
    ),
)
def selinux_devices(os: Os) -> Findings:
    if need(os.selinux) == "enforcing" and not need(os.selinux_container_devices):
        yield fail("SELinux is enforcing, and container_use_devices is off", code="container-use-devices-off", found="off", wanted="on")
