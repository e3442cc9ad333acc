"""The container runtime that serves jobs does not run: no container can be started.

After a failed start (a configuration that is refused, an ordering cycle at boot, a package upgrade that stopped it) the service is down
until somebody starts it. Each runtime that serves jobs counts by itself: a Docker that runs is of no use to a kubelet whose containerd
is down. A Docker whose socket unit alone is enabled starts when somebody asks it; until then nothing shows that it can.
A kubelet reaches Docker through cri-dockerd alone: where nobody listens for it, no pod starts, though Docker runs.
"""

from hostagent.check import Findings, Step, check, fail, need, shell, warn
from hostagent.domains.runtime.serving import RuntimeChoice, kubelets_of
from hostagent.domains.runtime.tables.versions import CRI_DOCKERD
from hostagent.facts.host import Machine, Services
from hostagent.facts.runtime import Launchers, Runtime

from ._choice import serving_ones
from ._steps import unit_of

_SHIM = (
    Step("restart_service", "Read why cri-dockerd ended.", "journalctl -b -u cri-docker"),
    Step("restart_service", "Start cri-dockerd.", "systemctl restart cri-docker.socket cri-docker.service"),
)


@check(
    title="The container runtime runs",
    severity="critical",
    since="0.1",
    because=("runtime.config_accepted",),
    headline="The container runtime is not running",
    remedy=(Step("restart_service", "Read its journal, correct what that names, and start it."),),
    references=("Kubernetes, Container Runtimes",),
    confirm=(
        "systemctl status containerd docker crio",
        "journalctl -b -u containerd -u docker -u crio",
    ),
)
def service_running(choice: RuntimeChoice, services: Services, machine: Machine) -> Findings:
    for one in serving_ones(choice):
        if not need(one.running) and one.key == "docker" and _waits(services, machine):
            yield warn(
                "docker is not running yet: it starts when a client connects",
                code="on-demand",
                found="docker.socket listens",
                wanted="running",
            )
        elif not need(one.running):
            unit = unit_of(one)
            steps = (
                Step("restart_service", f"Read why {one.key} ended, and correct it.", shell("journalctl -b -u {}", unit)),
                Step("restart_service", f"Start {one.key}.", shell("systemctl restart {}", unit)),
            )
            yield fail(
                f"{one.key} is not running",
                code="stopped",
                found="stopped",
                wanted="running",
                remedy=steps,
                about=one.key,
                headline=f"{one.key} is not running",
            )
        elif one.key == "docker" and (dead := _unheard(one, choice.launchers)):
            yield fail(
                f"nobody listens on {dead}, through which the kubelet uses Docker",
                code="no-shim",
                found=dead,
                wanted="cri-dockerd listens",
                remedy=_SHIM,
                headline="cri-dockerd is not running, through which the kubelet uses Docker",
            )


def _unheard(docker: Runtime, launchers: Launchers) -> str:
    """The socket of cri-dockerd on which nobody listens, "" where all kubelets are heard."""
    asked = (one for one in kubelets_of(docker, launchers) if need(one.endpoint) == CRI_DOCKERD)
    return next((need(one.endpoint) for one in asked if not need(one.shim_listens)), "")


def _waits(services: Services, machine: Machine) -> bool:
    """Only the socket unit is enabled, and systemd listens for it."""
    unit = need(services.unit("docker"))
    if not unit.exists or need(unit.enabled):
        return False
    return bool({"/run/docker.sock", "/var/run/docker.sock"} & set(need(machine.listening_sockets)))
