"""The kubelet is enabled and does not run: Kubernetes takes the node for not ready, and starts no pod here.

After a failed start (a configuration that it refuses, a runtime that does not answer, expired credentials) systemd starts it again, or
gives up. A kubelet in a distribution (k3s, RKE2, MicroK8s, k0s) is the process of that distribution's unit. kubeadm's package enables a
kubelet that has joined no cluster, which ends until `kubeadm join` writes its configuration: such a host is no worker yet, and the check
does not apply; nor where the runtime that the kubelet uses is down, which runtime.service_running reports. While cloud-init still sets
the host up, and in the first two minutes of a boot, systemd may be about to start it.

On some platforms a program of the image starts the kubelet at each boot, and its unit is never enabled (EKS on Amazon Linux 2023, GKE):
there it counts once the host has a cluster's credentials, or got the data to join one, and has ten minutes after a boot. Talos runs it in
a container. A kubelet that an administrator has disabled or masked, with credentials still there, is worth knowing.
"""

from typing import NamedTuple

from hostagent.check import Finding, Findings, Step, Unread, check, fail, need, shell, skip
from hostagent.core.tables.platforms import CONTAINED_KUBELET
from hostagent.domains.kubelet.joined import is_unjoined
from hostagent.domains.system.starting import why_starting
from hostagent.facts.gpu import GpuEvents
from hostagent.facts.host import Machine, Services, Unit
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.platform import Platform
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.profile import Profile


class Params(NamedTuple):
    """boot_seconds: how long after a boot the kubelet may still be started, seconds
    starter_seconds: as boot_seconds, where a program of the platform starts it, seconds
    """

    boot_seconds: int = 120
    starter_seconds: int = 600


_DISABLED: Finding = fail(
    "the kubelet is disabled or masked, and this host has a cluster's credentials",
    code="disabled",
    found="disabled",
    wanted="enabled, or no credentials",
    remedy=(
        Step(
            "restart_service",
            "If this host is a worker of Kubernetes, enable its kubelet.",
            "systemctl unmask kubelet && systemctl enable --now kubelet",
        ),
        Step("configure", "If it is none, remove the kubelet's credentials."),
    ),
    headline="The kubelet is disabled, and this host has a cluster's credentials",
    at_most="info",
)


@check(
    title="The kubelet runs on a worker of Kubernetes",
    severity="critical",
    since="0.1",
    part="",
    because=("kubelet.config_accepted", "host.service_restarts:kubelet"),
    headline="The kubelet is not running: Kubernetes starts no pod here",
    remedy=(
        Step("restart_service", "Find out why the kubelet ended.", "journalctl -b -u kubelet -n 50"),
        Step("restart_service", "Start the kubelet.", "systemctl start kubelet"),
    ),
    references=("Kubernetes, Set Kubelet Parameters Via A Configuration File",),
    confirm=("systemctl status kubelet", "journalctl -b -u kubelet -n 50"),
)
def running(
    kubelet: Kubelet,
    services: Services,
    machine: Machine,
    events: GpuEvents | Unread,
    launchers: Launchers | Unread,
    runtimes: tuple[Runtime, ...] | Unread,
    platform: Platform | Unread,
    profile: Profile,
    params: Params,
) -> Findings:
    name = need(kubelet.unit)
    if not name:
        if kubelet.joined is True:
            yield _DISABLED
            return
        skip("this host has no kubelet")
    if need(kubelet.runs):
        return
    unit = need(services.unit(name))
    starter = _starter(kubelet)
    command = CONTAINED_KUBELET.get(need(platform.name), ()) if not isinstance(platform, Unread) and not unit.exists else ()
    has_unit = unit.exists and (bool(starter) or need(unit.enabled) or need(unit.active))
    if not has_unit and not command:
        skip(f"{name} is not enabled here")
    if not starter and is_unjoined(kubelet):
        skip("the kubelet has joined no cluster yet")
    if reason := why_starting(machine, events, params.starter_seconds if starter else params.boot_seconds):
        skip(f"{reason}: the kubelet may be about to start")
    if down := _stopped_runtime(name, launchers, runtimes):
        skip(f"{down}, the runtime of the kubelet, is not running")
    yield fail(
        _found(name, unit, starter),
        code="stopped",
        found="stopped",
        wanted="running",
        remedy=_contained(*command) if command else _started(name, kubelet) if starter else _own(name),
        headline="" if name == "kubelet" else f"{name} is not running: Kubernetes starts no pod here",
        at_most="info" if profile.runtime.kind == "none" else None,
    )


def _starter(kubelet: Kubelet) -> str:
    return "" if isinstance(kubelet.starter, Unread) else kubelet.starter


def _found(name: str, unit: Unit, starter: str) -> str:
    if not unit.exists:
        return "the kubelet's container is not running"
    if starter and not need(unit.active):
        return f"{starter} starts {name} on this platform, and the kubelet is not running"
    return f"{name} is enabled, and the kubelet is not running" if need(unit.enabled) else f"{name} runs without its kubelet"


def _contained(show: str, restart: str) -> tuple[Step, ...]:
    return (
        Step("restart_service", "Find out why the kubelet ended.", show),
        Step("restart_service", "Start the kubelet.", restart),
    )


def _started(name: str, kubelet: Kubelet) -> tuple[Step, ...]:
    starter = _starter(kubelet)
    first = name if kubelet.joined is True else starter
    return (
        Step("restart_service", f"Find out why {name} ended or was not started.", shell("journalctl -b -u {} -u {} -n 50", starter, name)),
        Step("restart_service", f"Start {first}.", shell("systemctl restart {}", first)),
    )


def _own(name: str) -> tuple[Step, ...]:
    return (
        Step("restart_service", f"Find out why {name} ended.", shell("journalctl -b -u {} -n 50", name)),
        Step("restart_service", f"Start {name}.", shell("systemctl restart {}", name)),
        Step("restart_service", "If this host is no worker of Kubernetes, disable it.", shell("systemctl disable --now {}", name)),
    )


def _stopped_runtime(name: str, launchers: Launchers | Unread, runtimes: tuple[Runtime, ...] | Unread) -> str:
    """The runtime that this kubelet uses if that is known to be down, else ""."""
    kubelets = launchers if isinstance(launchers, Unread) else launchers.kubelets
    if isinstance(kubelets, Unread) or isinstance(runtimes, Unread):
        return ""
    keys = {one.runtime for one in kubelets if one.unit == name and not isinstance(one.runtime, Unread)}
    return next((one.key for one in runtimes if one.key in keys and one.running is False and one.installed is True), "")
