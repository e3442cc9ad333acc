"""The runtime that serves jobs gives containers no GPU: pods with the nvidia runtime class stay in ContainerCreating.

The error is: no runtime for "nvidia" is configured; or, in Docker: unknown or invalid runtime name: nvidia. GPUs reach containers in
several ways, and each counts only where this runtime can use it: a runtime entry called nvidia in the effective configuration; the
toolkit's hook, which Docker runs for --gpus and CRI-O by a file in its hook directories; CDI that is switched on, with a specification
of nvidia-ctk or of the running device plugin in a directory that the runtime reads; the socket of the DRA driver; the Operator's NRI
plugin; a provider's mounts with libraries in them. An entry under a plugin name that containerd does not read, in a drop-in that nothing
imports or in a file whose version line is missing has no effect, while 'nvidia-ctk runtime configure' has reported success.
What a plug-in left behind gives nobody a GPU. In an image the specification that the refresh unit makes at the first boot counts, and
of a k3s or RKE2 that never started the entry that it writes where the toolkit is.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, shell, skip
from hostagent.domains.runtime.access import CTK_KIND, GpuAccess
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.cdi import Cdi
from hostagent.facts.host import Services
from hostagent.facts.platform import Platform
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.profile import Profile

from ._choice import accepted_ones, skip_without_cri_client
from ._steps import CRIO_DROP_INS, by_snap, configure, crio_drop_in, restart

_WANTED = {"handler": "a runtime called nvidia", "either": "a runtime called nvidia, or CDI with a specification"}
_HANDLERS = ("handler", "hook")
#: Where the runtime writes its configuration itself, and nvidia-ctk's edits have no effect; else the name that nvidia-ctk knows.
_REMEDIES = {
    **{
        key: (
            Step("install", "Install the NVIDIA Container Toolkit, if it is not."),
            Step("restart_service", f"Restart {key}: it looks for the toolkit as it starts.", shell("systemctl restart {}", unit)),
        )
        for key, unit in (("k3s", "k3s"), ("rke2", "rke2-agent"))
    },
    "microk8s": (Step("configure", "Add the nvidia runtime to MicroK8s.", "microk8s enable nvidia"),),
    "docker by snap": (
        Step("configure", "Correct what the snap's log names.", "snap logs docker.nvidia-container-toolkit"),
        Step("restart_service", "Restart Docker; the snap reads nothing of /etc/docker.", "snap restart docker"),
    ),
    "k0s": (
        Step("configure", "Write the nvidia entry into a file of /etc/k0s/containerd.d."),
        Step("restart_service", "Restart k0s.", "systemctl restart k0sworker"),
    ),
}
#: They wrote specifications here, and do not serve.
_PLUGINS = (
    Step("configure", "Look at this node's pods of the device plugin, the DRA driver or the GPU Operator."),
    Step("configure", "If they have left this node, remove their files from /var/run/cdi."),
)
#: What they give does not reach containers of this runtime.
_SERVING = (
    Step("configure", "Read the log of this node's device plugin or DRA driver pod."),
    Step("configure", "Let it write its CDI specification where the runtime reads it."),
)


@check(
    title="The runtime gives containers access to GPUs",
    severity="critical",
    since="0.1",
    because=(
        "toolkit.installed",
        "driver.library_present",
        "runtime.config_accepted",
        "runtime.cri_enabled",
        "runtime.unimported_dropin",
        "runtime.misplaced_table",
        "runtime.dropin_shadow",
        "runtime.crio_dropin_path",
    ),
    headline="The container runtime gives containers no GPU",
    remedy=(
        Step("configure", "Configure the nvidia runtime.", command="nvidia-ctk runtime configure --runtime=<containerd, docker or crio>"),
        Step("restart_service", "Restart the runtime."),
    ),
    references=(
        "NVIDIA GPU Operator issues 413, 432 and 549",
        "NVIDIA Container Toolkit issue 1430",
        "NVIDIA Container Toolkit, Installation Guide: configuring containerd",
        "NVIDIA GPU Operator, Container Device Interface and Node Resource Interface plugin support",
    ),
    confirm=(
        "containerd config dump | grep -n -i nvidia",
        "docker info --format '{{json .Runtimes}}'",
        "nvidia-ctk cdi list",
    ),
)
def nvidia_handler(
    cdi: Cdi, choice: RuntimeChoice, access: GpuAccess, services: Services | Unread, platform: Platform | Unread, profile: Profile
) -> Findings:
    wanted = profile.runtime.access
    if profile.runtime.kind == "none" or wanted == "cdi":
        skip("the profile asks for no nvidia runtime")
    for one in accepted_ones(choice):
        found = access.ways(one)
        if wanted == "handler":
            found = tuple(word for word in found if word in _HANDLERS)
        if not found and one.kind == "containerd" and len(choice.serving.runtimes) == 1:
            skip_without_cri_client(one, choice, services, platform)
        if not found:
            names = ", ".join(handler.name for handler in need(one.handlers)) or "none"
            usual = (_configure(one), restart(one))
            left = any(spec.kind not in ("", CTK_KIND) for spec in need(cdi.specs))
            owners = _SERVING if _is_plugged(one, choice.launchers) else (*_PLUGINS, *usual) if left else ()
            yield fail(
                f"no runtime entry gives containers GPUs ({one.key}: {names})",
                code="absent",
                found=f"{one.key}: {names}",
                wanted=_WANTED[wanted],
                about=one.key,
                headline=f"{one.key} gives containers no GPU",
                remedy=owners or _REMEDIES.get("docker by snap" if by_snap(one) else one.key, usual),
            )


def _is_plugged(one: Runtime, launchers: Launchers) -> bool:
    """A plug-in of the kubelet's is at work, and this runtime takes specifications."""
    sockets = () if isinstance(launchers.plugin_sockets, Unread) else launchers.plugin_sockets
    return one.cdi_enabled is True and any("/device-plugins/" in path or "/plugins/" in path for path in sockets)


def _configure(one: Runtime) -> Step:
    """nvidia-ctk's command; where it wrote CRI-O's drop-in to a directory that CRI-O does not read, it has to be told which."""
    has_own = one.kind == "crio" and not crio_drop_in(one).startswith(f"{CRIO_DROP_INS}/")
    elsewhere = has_own or (one.kind == "crio" and not isinstance(one.unimported, Unread) and one.unimported)
    where = shell(" --drop-in-config={}", crio_drop_in(one)) if elsewhere else ""
    return configure(one, where)
