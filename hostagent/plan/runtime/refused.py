"""Why a runtime's configuration is left alone, and with it the host."""

from hostagent.facts.runtime import Runtime
from hostagent.facts.unread import Unread
from hostagent.plan.model import Refusal
from hostagent.steps import Step

_AGAIN = Step("rerun", "Make the plan again.", "hostagent plan")


def rejected(runtime: Runtime, error: str) -> Refusal:
    """The runtime itself refuses what is there: nothing is added to it."""
    return Refusal(
        "plan.runtime-rejected",
        f"{runtime.key} refuses its configuration: {error}",
        f"{runtime.key} refuses its configuration",
        error,
        "a configuration that it accepts",
        "configure",
        (Step("configure", f"Correct the configuration of {runtime.key}: {error}"[:90]), _AGAIN),
    )


def cri_off(runtime: Runtime, main: str) -> Refusal:
    return Refusal(
        "plan.runtime-cri-off",
        f"{main} disables the CRI plugin of {runtime.key}, which a kubelet or the profile asks for containers",
        f"CRI is off in {runtime.key}",
        "disabled_plugins names cri",
        "the CRI plugin enabled",
        "configure",
        (Step("configure", f"Take cri out of disabled_plugins in {main}."), _AGAIN),
    )


def unversioned(runtime: Runtime, main: str) -> Refusal:
    return Refusal(
        "plan.runtime-unversioned",
        f"{main} has no version line, or version 1: {runtime.key} would read an entry that is added to it in another place",
        f"The configuration of {runtime.key} has no version that an entry can be added to",
        "version 1",
        "version = 2 or later",
        "configure",
        (
            Step("configure", f"Bring {main} to version 2 or later.", "containerd config migrate"),
            Step("restart_service", "Restart containerd.", "systemctl restart containerd"),
            _AGAIN,
        ),
    )


def others_drop_in(runtime: Runtime, path: str, why: str) -> Refusal:
    """A file that somebody else writes decides about the entry."""
    return Refusal(
        "plan.runtime-drop-in",
        f"{path} {why}",
        f"A drop-in of {runtime.key} stands against an entry for NVIDIA's runtime",
        path,
        "no such drop-in",
        "configure",
        (Step("configure", f"Move what {path} sets into the main file, or remove the file."[:90]), _AGAIN),
    )


def operators(runtime: Runtime, binary: str) -> Refusal:
    return Refusal(
        "plan.runtime-operator",
        f"the nvidia entry of {runtime.key} names {binary}, the GPU Operator's, and the profile gives the toolkit to the host",
        f"The GPU Operator has configured {runtime.key}",
        binary,
        "one owner of the toolkit",
        "contact_owner",
        (
            Step("contact_owner", "Set toolkit.enabled=false in the GPU Operator, or 'toolkit.owner: container' in the profile."),
            _AGAIN,
        ),
    )


def not_editable(runtime: Runtime, path: str, why: str) -> Refusal:
    return Refusal(
        "plan.runtime-edit",
        f"{path}: {why}",
        f"The configuration of {runtime.key} cannot be changed safely",
        why,
        "a file in which an entry can be added",
        "configure",
        (Step("configure", f"Add the nvidia runtime to {path} by hand."), _AGAIN),
    )


def without_cdi(runtime: Runtime) -> Refusal:
    version = "an unknown version" if isinstance(runtime.version, Unread) else runtime.version
    return Refusal(
        "plan.runtime-no-cdi",
        f"{runtime.key} {version} has no CDI, and the profile gives containers their GPUs by CDI alone",
        f"This {runtime.key} has no CDI",
        version,
        "a version with CDI, or another way in runtime.access",
        "install",
        (Step("install", f"Upgrade {runtime.key}, or change runtime.access in the profile."), _AGAIN),
    )


def own_tool(runtime: Runtime, command: str) -> Refusal:
    """Its configuration is made by a program of its own."""
    return Refusal(
        "plan.runtime-own-tool",
        f"{runtime.key} writes its configuration itself, and has no nvidia entry",
        f"{runtime.key} has no nvidia entry, and hostagent does not configure it",
        "no nvidia entry",
        "a runtime called nvidia",
        "configure",
        (Step("configure", f"Add the nvidia runtime to {runtime.key}.", command), _AGAIN),
    )


def no_toolkit(runtime: Runtime) -> Refusal:
    return Refusal(
        "plan.runtime-no-toolkit",
        f"{runtime.key} needs an entry for NVIDIA's runtime, and no toolkit is installed or planned",
        "The NVIDIA Container Toolkit is not installed",
        "no toolkit",
        "the toolkit's packages",
        "install",
        (Step("install", "Plan the toolkit, too.", "hostagent plan --only toolkit --only runtime"),),
    )


def no_default(runtime: Runtime, name: str) -> Refusal:
    return Refusal(
        "plan.runtime-no-default",
        f"the profile names {name} as the default runtime, and {runtime.key} has no entry of that name",
        f"{runtime.key} has no runtime called {name}",
        f"no {name}",
        name,
        "configure",
        (Step("configure", "Correct runtime.default_runtime in the profile."), _AGAIN),
    )


def restart(runtime: Runtime, unit: str, why: str) -> Refusal:
    return Refusal(
        "plan.runtime-restart",
        f"{runtime.key} has to restart before it gives containers GPUs, and {why}",
        f"A restart of {runtime.key} would stop containers",
        why,
        "no running containers, or live-restore",
        "drain_and_inspect",
        (
            Step("drain_and_inspect", 'Stop the containers, or set "live-restore": true in daemon.json and reload dockerd.'),
            Step("configure", "Or allow the restart: 'install: {restart: always}' in the profile."),
            _AGAIN,
        ),
    )


def no_unit(runtime: Runtime) -> Refusal:
    return Refusal(
        "plan.runtime-no-unit",
        f"{runtime.key} has to restart before it gives containers GPUs, and no unit of systemd starts it",
        f"Nothing is known that restarts {runtime.key}",
        "no unit",
        "a unit of systemd",
        "restart_service",
        (Step("configure", "Set 'install: {restart: never}' in the profile, and restart it afterwards by hand."), _AGAIN),
    )
