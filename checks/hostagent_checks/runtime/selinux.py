"""SELinux keeps the serving runtime's containers away from the GPU's devices: inside them NVML says "Insufficient Permissions".

A runtime that labels its containers (CRI-O by default, containerd with `enable_selinux`, Docker with `selinux-enabled`) runs them as
container_t. Of host devices that are bind-mounted into them, as the toolkit's legacy mode does, that domain may use none until
`container_use_devices`, `container_use_xserver_devices` or NVIDIA's own policy module allows it. By CDI the runtime makes the device
nodes itself, with the container's label: nothing is refused. Where the runtime labels nothing, an enforcing host changes nothing for
jobs.

The GPU Operator's driver container labels its device nodes for containers. Silent without these booleans (Bottlerocket and others have a
policy of their own), in permissive mode, and on hosts with AppArmor. A single container may still have a label of its own
(`label=disable`, `seLinuxOptions`), which shows in no file of the host: hence a warning.
"""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, shell, skip
from hostagent.domains.runtime.access import GpuAccess
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.platform import Platform
from hostagent.facts.runtime import Confinement, Runtime

from ._choice import serving_ones

#: Ways of `hostagent.domains.runtime.access` by which the kubelet asks for CDI devices.
_BY_PLUGIN = frozenset({"dra", "nri", "plugin"})
_SETTINGS = {
    "containerd": "enable_selinux = true in containerd's configuration",
    "docker": "selinux-enabled of dockerd",
    "crio": "selinux of CRI-O",
}


@check(
    title="SELinux lets the serving runtime's containers use GPUs",
    severity="warning",
    since="0.1",
    headline="SELinux keeps containers away from the GPU's devices",
    remedy=(Step("configure", "Allow containers the devices.", command="setsebool -P container_use_devices on"),),
    references=("NVIDIA Container Toolkit, troubleshooting: Insufficient Permissions", "container_selinux(8)"),
    confirm=("getenforce", "getsebool container_use_devices", "ausearch -m avc -ts boot"),
)
def selinux(confinement: Confinement, choice: RuntimeChoice, access: GpuAccess, platform: Platform | Unread) -> Findings:
    labelled = need(confinement.runtimes)
    serving = {one.key: one for one in serving_ones(choice)}
    if need(confinement.container_devices) or _is_on(confinement.gpu_devices) or _is_on(confinement.gpu_policy):
        return
    on = [serving[one.key] for one in labelled if one.key in serving and need(one.enabled)]
    if not on:
        skip("no runtime that serves jobs labels its containers")
    if not isinstance(platform, Unread) and not isinstance(platform.driver, Unread) and platform.driver.owner == "operator":
        skip("the GPU Operator's driver container labels its device nodes for containers")
    name = "container_use_devices" if isinstance(confinement.gpu_devices, Unread) else "container_use_xserver_devices"
    for one in on:
        if _made_by_runtime(one, access):
            continue
        yield fail(
            f"{_SETTINGS[one.kind]} labels containers, and {name} is off",
            code="devices-refused",
            found="off",
            wanted="on",
            headline=f"SELinux keeps containers of {one.key} away from the GPU's devices",
            remedy=(
                Step("configure", "Allow containers the devices.", shell("setsebool -P {} on", name)),
                Step(
                    "configure",
                    "Or give containers GPUs by CDI.",
                    shell("nvidia-ctk runtime configure --runtime={} --cdi.enabled", one.kind),
                ),
            ),
        )


def _is_on(value: bool | Unread) -> bool:
    """A boolean that this policy does not have is off."""
    if isinstance(value, Unread) and value.why in NOT_APPLICABLE:
        return False
    return need(value)


def _made_by_runtime(runtime: Runtime, access: GpuAccess) -> bool:
    """Whether the runtime makes the device nodes itself, by CDI or for a plug-in of the kubelet; also where nothing gives it GPUs."""
    ways, mode = access.ways(runtime), access.toolkit.mode
    if not ways or _BY_PLUGIN.intersection(ways):
        return True
    by_toolkit = "handler" in ways or "hook" in ways
    return not by_toolkit or (not isinstance(mode, Unread) and mode in ("cdi", "jit-cdi"))
