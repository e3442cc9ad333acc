"""The runtime that serves jobs gives containers no GPU: pods with the nvidia runtime class stay in ContainerCreating.

The words are: no runtime for "nvidia" is configured; or, in Docker: unknown or invalid runtime name: nvidia. GPUs reach containers in
several ways, and each counts only where this runtime can use it: a runtime entry called nvidia in the effective configuration; the
toolkit's hook, which Docker runs for --gpus and CRI-O by a file in its hook directories; CDI that is switched on, with a specification
of nvidia-ctk or of the running device plugin in a directory that the runtime reads; the socket of the DRA driver; the Operator's NRI
plugin; a provider's mounts with libraries in them. An entry under a plugin name that containerd does not read, in a drop-in that nothing
imports or in a file whose version line is missing has no effect, while 'nvidia-ctk runtime configure' has reported success.
What a plug-in left behind gives nobody a GPU. In an image the specification that the refresh unit makes at the first boot counts, and
of a k3s or RKE2 that never started the entry that it writes where the toolkit is.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.derived.access import CTK_KIND, ways
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.facts.toolkit import Toolkit
from hostagent.facts.unread import Unread
from hostagent.profile import Profile

from ._choice import accepted_ones

_WANTED = {"handler": "a runtime called nvidia", "either": "a runtime called nvidia, or CDI with a specification"}
_HANDLERS = ("handler", "hook")
#: Where the runtime writes its configuration itself, and nvidia-ctk's edits have no effect; else the name that nvidia-ctk knows.
_REMEDIES = {
    **dict.fromkeys(
        ("k3s", "rke2"),
        "Install the toolkit and restart k3s (or rke2): it looks for nvidia-container-runtime as it starts. Do not edit its config.toml.",
    ),
    "microk8s": "Add the nvidia entry to /var/snap/microk8s/current/args/containerd-template.toml, or run 'microk8s enable nvidia'.",
    "docker by snap": "See 'snap logs docker.nvidia-container-toolkit', mend what it names, and run 'snap restart docker'. The snap reads "
    "/var/snap/docker/current/config/daemon.json, and nothing of /etc/docker.",
    "k0s": "Write the nvidia entry into a file of /etc/k0s/containerd.d and restart k0s.",
}
_CRIO_DROP_IN = "/etc/crio/crio.conf.d/99-nvidia.toml"
_PLUGINS = (
    "A device plugin, a DRA driver or the GPU Operator wrote specifications here and does not serve: look at its pods on this node. On a "
    "node that they left, remove their files of /var/run/cdi and run 'nvidia-ctk runtime configure' for its runtime."
)

_SERVING = (
    "A device plugin or a DRA driver serves on this node, and what it gives does not reach containers of this runtime: look at the log of "
    "its pod, and whether it writes its specification into a directory that the runtime reads."
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
        Step("configure", "Configure the runtime (containerd, docker, crio).", command="nvidia-ctk runtime configure --runtime=<runtime>"),
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
def nvidia_handler(runtimes: tuple[Runtime, ...], cdi: Cdi, launchers: Launchers, toolkit: Toolkit, profile: Profile) -> Findings:
    kind, access = profile.runtime.kind, profile.runtime.access
    if kind == "none" or access == "cdi":
        skip("the profile wants no nvidia runtime")
    for one in accepted_ones(runtimes, launchers, profile):
        found = ways(one, cdi, launchers, toolkit)
        if access == "handler":
            found = tuple(word for word in found if word in _HANDLERS)
        if not found:
            names = ", ".join(handler.name for handler in need(one.handlers)) or "none"
            usual = f"Run '{_configure(one)}', restart {one.key} and run this check again."
            owners = _PLUGINS if any(spec.kind not in ("", CTK_KIND) for spec in need(cdi.specs)) else ""
            owners = _SERVING if _is_plugged(one, launchers) else owners
            yield fail(
                f"{one.key} gives containers no GPU",
                code="absent",
                found=f"{one.key}: {names}",
                wanted=_WANTED[access],
                about=one.key,
                remedy=owners or _REMEDIES.get(_brought_by(one), usual),
                action="configure",
            )


def _is_plugged(one: Runtime, launchers: Launchers) -> bool:
    """A plug-in of the kubelet's is at work, and this runtime takes specifications."""
    sockets = () if isinstance(launchers.plugin_sockets, Unread) else launchers.plugin_sockets
    return one.cdi_enabled is True and any("/device-plugins/" in path or "/plugins/" in path for path in sockets)


def _configure(one: Runtime) -> str:
    """nvidia-ctk's command; where it wrote CRI-O's drop-in to a directory that CRI-O does not read, it has to be told which."""
    elsewhere = one.kind == "crio" and not isinstance(one.unimported, Unread) and one.unimported
    where = f" --drop-in-config={_CRIO_DROP_IN}" if elsewhere else ""
    return f"nvidia-ctk runtime configure --runtime={one.kind}{where}"


def _brought_by(runtime: Runtime) -> str:
    files = () if isinstance(runtime.config_files, Unread) else runtime.config_files
    return "docker by snap" if any(path.startswith("/var/snap/docker/") for path in files) else runtime.key
