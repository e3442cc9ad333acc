"""Reasons not to change a runtime's configuration, which refuse the plan."""

from hostagent.core.steps import Step
from hostagent.core.unread import Unread
from hostagent.facts.runtime import Runtime
from hostagent.plan.model import Refusal
from hostagent.plan.refusals.words import refusal

_AGAIN = Step("rerun", "Make the plan again.", "hostagent plan")


def rejected(runtime: Runtime, error: str) -> Refusal:
    """The runtime itself rejects its configuration: nothing is added to it."""
    step = Step("configure", f"Correct the configuration of {runtime.key}: {error}"[:90])
    return refusal("runtime-rejected", f"{runtime.key} refuses its configuration", error, "a configuration that it accepts", step, _AGAIN)


def cri_off(runtime: Runtime, main: str) -> Refusal:
    return refusal(
        "runtime-cri-off",
        f"CRI is off in {runtime.key}",
        "disabled_plugins names cri",
        "the CRI plugin enabled",
        Step("configure", f"Take cri out of disabled_plugins in {main}."),
        _AGAIN,
        detail=f"{main} disables the CRI plugin of {runtime.key}, which a kubelet or the profile asks for containers",
    )


def unversioned(runtime: Runtime, main: str) -> Refusal:
    return refusal(
        "runtime-unversioned",
        f"The configuration of {runtime.key} has no version that an entry can be added to",
        f"{main} without a version line, or of version 1",
        "version = 2 or later",
        Step("configure", f"Bring {main} to version 2 or later.", "containerd config migrate"),
        Step("restart_service", "Restart containerd.", "systemctl restart containerd"),
        _AGAIN,
        detail=f"{runtime.key} would read an entry that is added to it in another place",
    )


def others_drop_in(runtime: Runtime, path: str, why: str) -> Refusal:
    """A file of another owner decides about the entry."""
    return refusal(
        "runtime-drop-in",
        f"A drop-in of {runtime.key} stands against an entry for NVIDIA's runtime",
        path,
        "no such drop-in",
        Step("configure", f"Move what {path} sets into the main file, or remove the file."[:90]),
        _AGAIN,
        detail=f"it {why}",
    )


def operators(runtime: Runtime, binary: str) -> Refusal:
    return refusal(
        "runtime-operator",
        f"The GPU Operator has configured {runtime.key}",
        binary,
        "one owner of the toolkit",
        Step("contact_owner", "Set toolkit.enabled=false in the GPU Operator, or 'toolkit.owner: container' in the profile."),
        _AGAIN,
        detail=f"the nvidia entry of {runtime.key} is the GPU Operator's, and the profile gives the toolkit to the host",
    )


def not_editable(runtime: Runtime, path: str, why: str) -> Refusal:
    return refusal(
        "runtime-edit",
        f"The configuration of {runtime.key} cannot be changed safely",
        f"{path}: {why}",
        "a file in which an entry can be added",
        Step("configure", f"Add the nvidia runtime to {path} by hand."),
        _AGAIN,
    )


def without_cdi(runtime: Runtime) -> Refusal:
    version = "an unknown version" if isinstance(runtime.version, Unread) else runtime.version
    return refusal(
        "runtime-no-cdi",
        f"This {runtime.key} has no CDI",
        version,
        "a version with CDI, or another way in runtime.access",
        Step("install", f"Upgrade {runtime.key}, or change runtime.access in the profile."),
        _AGAIN,
        detail="the profile gives containers their GPUs by CDI alone",
    )


def own_tool(runtime: Runtime, command: str) -> Refusal:
    """The runtime has its own program for its configuration."""
    return refusal(
        "runtime-own-tool",
        f"{runtime.key} has no nvidia entry, and hostagent does not configure it",
        "no nvidia entry",
        "a runtime called nvidia",
        Step("configure", f"Add the nvidia runtime to {runtime.key}.", command),
        _AGAIN,
        detail=f"{runtime.key} writes its configuration itself",
    )


def no_toolkit(runtime: Runtime) -> Refusal:
    return refusal(
        "runtime-no-toolkit",
        "The NVIDIA Container Toolkit is not installed",
        "no toolkit that is installed or planned",
        "the toolkit's packages",
        Step("install", "Plan the toolkit, too.", "hostagent plan --only toolkit --only runtime"),
        detail=f"{runtime.key} needs an entry for NVIDIA's runtime",
    )


def no_default(runtime: Runtime, name: str) -> Refusal:
    return refusal(
        "runtime-no-default",
        f"{runtime.key} has no runtime called {name}",
        f"no {name}",
        name,
        Step("configure", "Correct runtime.default_runtime in the profile."),
        _AGAIN,
        detail="the profile names it as the default runtime",
    )


def restart(runtime: Runtime, why: str) -> Refusal:
    return refusal(
        "runtime-restart",
        f"A restart of {runtime.key} would stop containers",
        why,
        "no running containers, or live-restore",
        Step("drain_and_inspect", 'Stop the containers, or set "live-restore": true in daemon.json and reload dockerd.'),
        Step("configure", "Or allow the restart: 'install: {restart: always}' in the profile."),
        _AGAIN,
        detail=f"{runtime.key} has to restart before it gives containers GPUs",
    )


def no_unit(runtime: Runtime) -> Refusal:
    return refusal(
        "runtime-no-unit",
        f"Nothing is known that restarts {runtime.key}",
        "no unit",
        "a unit of systemd",
        Step("configure", "Set 'install: {restart: never}' in the profile, and restart it afterwards by hand."),
        _AGAIN,
        detail=f"{runtime.key} has to restart before it gives containers GPUs",
    )
