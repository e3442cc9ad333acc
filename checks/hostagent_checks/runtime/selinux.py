"""SELinux keeps the serving runtime's containers away from the GPU's devices: inside them NVML says "Insufficient Permissions".

A runtime that labels its containers (CRI-O by default, containerd with `enable_selinux`, Docker with `selinux-enabled`) runs them as
container_t. Of host devices that are bind-mounted into them, as the toolkit's legacy mode does, that domain may use none until
`container_use_devices`, `container_use_xserver_devices` or NVIDIA's own policy module allows it. By CDI the runtime makes the device
nodes itself, with the container's label: nothing is refused. Where the runtime labels nothing, an enforcing host changes nothing for
jobs.

In its newer versions the toolkit's mode auto generates CDI for each container that its runtime starts; its hook does not. The GPU
Operator's driver container labels its device nodes for containers. Silent without these booleans (Bottlerocket and others have a policy
of their own), in permissive mode, and on hosts with AppArmor. A single container may still have a label of its own (`label=disable`,
`seLinuxOptions`), which shows in no file of the host: hence a warning. An ordinary user may not read the store of modules: that is worth
knowing, where a runtime labels its containers.
"""

from hostagent.check import NOT_APPLICABLE, Finding, Findings, Step, Unread, check, fail, need, shell, skip, warn
from hostagent.core.tables.platforms import OPERATOR_DRIVER
from hostagent.domains.runtime.access import GpuAccess
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.domains.runtime.tables.toolkit_advisories import generates_cdi
from hostagent.domains.system.rights import is_expected
from hostagent.facts.driver import Driver
from hostagent.facts.host import Identity
from hostagent.facts.os import Os
from hostagent.facts.runtime import Confinement, Runtime
from hostagent.profile import Profile

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
def selinux(
    confinement: Confinement,
    os: Os,
    choice: RuntimeChoice,
    access: GpuAccess,
    driver: Driver | Unread,
    identity: Identity | Unread,
    profile: Profile,
) -> Findings:
    labelled = need(confinement.runtimes)
    serving = {one.key: one for one in serving_ones(choice)}
    on = [serving[one.key] for one in labelled if one.key in serving and need(one.enabled)]
    if not on:
        skip("no runtime that serves jobs labels its containers")
    if need(os.selinux_container_devices) or _is_on(confinement.gpu_devices):
        return
    if _has_driver_container(driver):
        skip("the GPU Operator's driver container labels its device nodes for containers")
    name = "container_use_devices" if isinstance(confinement.gpu_devices, Unread) else "container_use_xserver_devices"
    refused = [one for one in on if not _made_by_runtime(one, access)]
    policy = confinement.gpu_policy
    if refused and isinstance(policy, Unread) and is_expected(policy, identity, unprivileged=profile.pci_configuration == "optional"):
        yield _not_read(policy)
        return
    for one in () if refused and _is_on(policy) else refused:
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


def _not_read(policy: Unread) -> Finding:
    return warn(
        "SELinux's store of modules was not read: permission denied",
        code="not-read",
        found="not read",
        wanted="read",
        headline="Whether a policy lets containers use the GPU's devices was not read",
        remedy=(Step("rerun", "Run 'hostagent check' as root on the host."),),
        at_most="info",
        about=policy,
    )


def _is_on(value: bool | Unread) -> bool:
    """A boolean that this policy does not have is off."""
    if isinstance(value, Unread) and value.why in NOT_APPLICABLE:
        return False
    return need(value)


def _made_by_runtime(runtime: Runtime, access: GpuAccess) -> bool:
    """Whether the runtime makes the device nodes itself, by CDI or for a plug-in of the kubelet; also where nothing gives it GPUs."""
    ways, mode = access.ways(runtime), access.toolkit.mode
    if isinstance(mode, Unread) and mode.why not in NOT_APPLICABLE:
        need(mode)
    if not ways or _BY_PLUGIN.intersection(ways):
        return True
    if "handler" not in ways and "hook" not in ways:
        return True
    if isinstance(mode, Unread) or mode != "auto" or "handler" not in ways:
        return not isinstance(mode, Unread) and mode in ("cdi", "jit-cdi")
    return generates_cdi(need(access.toolkit.version))


def _has_driver_container(driver: Driver | Unread) -> bool:
    """Whether the GPU Operator's driver container has the driver's libraries: a directory of its name alone is none."""
    libraries = () if isinstance(driver, Unread) or isinstance(driver.libraries, Unread) else driver.libraries
    return any(one.path.startswith(f"{OPERATOR_DRIVER}/") for one in libraries)
