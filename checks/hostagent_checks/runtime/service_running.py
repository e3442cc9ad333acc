"""The container runtime that serves jobs does not run: no container can be started.

After a failed start (a configuration that is refused, an ordering cycle at boot, a package upgrade that stopped it) the service is down
until somebody starts it. Each runtime that serves jobs counts by itself: a Docker that runs is of no use to a kubelet whose containerd
is down. A Docker whose socket unit alone is enabled starts when somebody asks it; until then nothing shows that it can.
A kubelet reaches Docker through cri-dockerd alone: where nobody listens for it, no pod starts, though Docker runs.
"""

from hostagent.check import Findings, Step, check, fail, need, warn
from hostagent.derived.serving import kubelets_of
from hostagent.facts.host import Machine, Services
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.knowledge.runtimes import CRI_DOCKERD
from hostagent.profile import Profile

from ._choice import serving_ones

_SHIM = "See 'systemctl status cri-docker.service cri-docker.socket' and 'journalctl -b -u cri-docker', mend what they name, then start it."
_UNITS = {"rke2": "rke2-agent", "microk8s": "snap.microk8s.daemon-containerd", "k0s": "k0sworker"}


@check(
    title="The container runtime runs",
    severity="critical",
    since="0.1",
    because=("runtime.config_accepted",),
    headline="The container runtime does not run",
    remedy=(Step("restart_service", "Read its journal, remove the cause, then start it."),),
    references=("Kubernetes, Container Runtimes",),
    confirm=(
        "systemctl status containerd docker crio",
        "journalctl -b -u containerd -u docker -u crio",
    ),
)
def service_running(
    runtimes: tuple[Runtime, ...], launchers: Launchers, services: Services, machine: Machine, profile: Profile
) -> Findings:
    for one in serving_ones(runtimes, launchers, profile):
        if not need(one.running) and one.key == "docker" and _waits(services, machine):
            yield warn("docker starts when somebody asks it", code="on-demand", found="docker.socket listens", wanted="running")
        elif not need(one.running):
            unit = _UNITS.get(one.key, one.key)
            remedy = f"See 'systemctl status {unit}' and 'journalctl -b -u {unit}', mend what they name, then start it."
            yield fail(
                f"{one.key} does not run",
                code="stopped",
                found=f"{one.key}: stopped",
                wanted="running",
                remedy=remedy,
                action="restart_service",
                about=one.key,
            )
        elif one.key == "docker" and (dead := _unheard(one, launchers)):
            yield fail(
                f"nobody listens on {dead}, where the kubelet asks for Docker",
                code="no-shim",
                found=dead,
                wanted="cri-dockerd listens",
                remedy=_SHIM,
                action="restart_service",
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
