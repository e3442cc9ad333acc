"""No container runtime serves jobs: nothing on this host can start a container, with or without a GPU.

What serves is the runtime that the profile names; else the one at the kubelet's endpoint, and no other; else each whose unit or socket
unit is enabled, or that runs. A configuration that a removed runtime left behind does not count. Where none is in use, jobs may still
start containers by programs that need no daemon: Enroot or Apptainer under slurmd, or podman with a CDI specification of the GPUs.
"""

from hostagent.check import Finding, Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.runtime.access import podman_has_gpus, slurm_has_containers
from hostagent.domains.runtime.serving import RuntimeChoice, is_there
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Runtime

_PODMAN = (
    Step(
        "configure",
        "Make a CDI specification: podman then gives containers GPUs.",
        "systemctl enable --now nvidia-cdi-refresh.path nvidia-cdi-refresh.service",
    ),
    Step("install", "If jobs need a runtime with a daemon, install containerd, Docker or CRI-O."),
)


@check(
    title="A container runtime serves jobs",
    severity="critical",
    since="0.1",
    because=("gpu.present:none",),
    headline="No container runtime serves jobs",
    remedy=(
        Step("install", "Install containerd, Docker or CRI-O, and enable its service."),
        Step(
            "rerun",
            "Configure the nvidia runtime in it, then run hostagent again.",
            command="nvidia-ctk runtime configure --runtime=<containerd, docker or crio>",
        ),
    ),
    references=(
        "NVIDIA Container Toolkit, Installation Guide: configuring containerd",
        "Kubernetes, KubeletConfiguration: containerRuntimeEndpoint",
    ),
    confirm=("systemctl status containerd docker crio",),
)
def present(choice: RuntimeChoice, cdi: Cdi) -> Findings:
    kind, runtimes, launchers = choice.profile.runtime.kind, choice.runtimes, choice.launchers
    if kind == "none":
        skip("the profile asks for no container runtime")
    chosen = choice.serving
    for key in chosen.missing:
        yield fail(
            f"the kubelet uses {key}, which is not installed",
            code="kubelets-absent",
            found=_found(runtimes),
            wanted=key,
            evidence=tuple(f"{one.unit} uses {need(one.endpoint)}" for one in need(launchers.kubelets) if need(one.runtime) == key),
            remedy=f"Install {key}, or set the kubelet's containerRuntimeEndpoint to another runtime.",
            action="install",
            headline=f"The kubelet uses {key}, which is not installed",
        )
    if chosen.runtimes or chosen.missing:
        return
    if chosen.by == "none" and (slurm_has_containers(launchers) or podman_has_gpus(cdi, launchers)):
        return
    if kind not in ("auto", "any"):
        yield _another(kind, runtimes)
        return
    installed = [one for one in runtimes if is_there(one)]
    is_idle = installed and chosen.by == "none"
    message = "no container runtime is in use" if is_idle else "no container runtime is installed"
    wanted = "containerd, docker or crio in use" if chosen.by == "none" else kind
    remedy: tuple[Step, ...] = ()
    if chosen.by == "none" and "podman" in need(launchers.programs):
        remedy = _PODMAN
    yield fail(message, code="absent", found=_found(runtimes), wanted=wanted, remedy=remedy)


def _another(kind: str, runtimes: tuple[Runtime, ...]) -> Finding:
    """The profile names a runtime that the host does not have."""
    others = ", ".join(one.key for one in runtimes if is_there(one))
    message = f"{kind} is not installed" + (f"; this host has {others}" if others else "")
    remedy = f"Install {kind}, or set 'runtime.kind' in the profile to what this host uses."
    return fail(
        message,
        code="absent",
        found=_found(runtimes),
        wanted=kind,
        headline=f"The profile asks for {kind}, which is not installed",
        remedy=remedy,
        action="install",
    )


def _found(runtimes: tuple[Runtime, ...]) -> tuple[str, ...]:
    return tuple(f"{one.key} ({_state(one)})" for one in runtimes)


def _state(runtime: Runtime) -> str:
    state = runtime.state
    if isinstance(state, Unread):
        return "has not started yet" if state.why == "not-running" else "configuration could not be read"
    return state
