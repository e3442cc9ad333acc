"""No container runtime serves jobs: nothing on this host can start a container, with or without a GPU.

What serves is the runtime that the profile names; else the one at the kubelet's endpoint, and no other; else each whose unit or socket
unit is enabled, or that runs. A configuration that a removed runtime left behind does not count. Where none is in use, jobs may still
start containers by programs that need no daemon: Enroot or Apptainer under slurmd, or podman with a CDI specification of the GPUs.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.derived.access import podman_has_gpus, slurm_has_containers
from hostagent.derived.serving import is_there
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.facts.unread import Unread
from hostagent.profile import Profile

from ._choice import who_serves

_PODMAN = (
    "For podman make a CDI specification: 'systemctl enable --now nvidia-cdi-refresh.path nvidia-cdi-refresh.service'. Where jobs need a "
    "daemon, install containerd, Docker or CRI-O."
)


@check(
    title="A container runtime serves jobs",
    severity="critical",
    since="0.1",
    headline="No container runtime serves jobs",
    remedy=(
        Step("install", "Install containerd, Docker or CRI-O, and enable its service."),
        Step("configure", "Configure it (containerd, docker, crio).", command="nvidia-ctk runtime configure --runtime=<runtime>"),
    ),
    references=(
        "NVIDIA Container Toolkit, Installation Guide: configuring containerd",
        "Kubernetes, KubeletConfiguration: containerRuntimeEndpoint",
    ),
    confirm=("systemctl status containerd docker crio",),
)
def present(runtimes: tuple[Runtime, ...], launchers: Launchers, cdi: Cdi, profile: Profile) -> Findings:
    kind = profile.runtime.kind
    if kind == "none":
        skip("the profile wants no container runtime")
    chosen = who_serves(runtimes, launchers, profile)
    for key in chosen.missing:
        yield fail(
            f"the kubelet asks {key} for containers, which is not installed",
            code="kubelets-absent",
            found=_found(runtimes),
            wanted=key,
            evidence=tuple(f"{one.unit} asks {need(one.endpoint)}" for one in need(launchers.kubelets) if need(one.runtime) == key),
            remedy=f"Install {key}, or set the kubelet's containerRuntimeEndpoint to the runtime that is to serve it.",
            action="install",
        )
    if chosen.runtimes or chosen.missing:
        return
    if chosen.by == "none" and (slurm_has_containers(launchers) or podman_has_gpus(cdi, launchers)):
        return
    installed = [one for one in runtimes if is_there(one)]
    message = "no container runtime is in use" if installed and chosen.by == "none" else "no container runtime"
    wanted = "containerd, docker or crio in use" if chosen.by == "none" else kind
    remedy = ""
    if chosen.by == "none" and "podman" in need(launchers.programs):
        remedy = _PODMAN
    yield fail(message, code="absent", found=_found(runtimes), wanted=wanted, remedy=remedy, action="install")


def _found(runtimes: tuple[Runtime, ...]) -> tuple[str, ...]:
    return tuple(f"{one.key} ({_state(one)})" for one in runtimes)


def _state(runtime: Runtime) -> str:
    state = runtime.state
    if isinstance(state, Unread):
        return "has not started yet" if state.why == "not-running" else "its configuration cannot be read"
    return state
