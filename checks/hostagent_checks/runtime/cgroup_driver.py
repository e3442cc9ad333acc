"""The runtime and systemd both manage cgroups: two managers of one tree, and pods that die under memory pressure.

On a host that systemd manages, the kubelet and the runtime both have to use the systemd driver. With cgroupfs in one of them pods are
killed or not counted when resources get short; with different drivers they do not start. A kubelet that says cgroupfs itself has chosen
it: NVIDIA names that as a way to keep GPUs in containers over a reload of systemd.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, shell, skip
from hostagent.domains.runtime.serving import RuntimeChoice, kubelets_of
from hostagent.facts.host import Services
from hostagent.facts.runtime import Launcher, Runtime

from ._choice import skip_unserving
from ._steps import restart


@check(
    title="The runtime uses the systemd cgroup driver",
    severity="warning",
    since="0.1",
    because=("runtime.handler_cgroup",),
    headline="{device} does not use the systemd cgroup driver",
    remedy=(
        Step("configure", "Set the runtime's cgroup driver to systemd, for the runc entry and for the nvidia one."),
        Step("configure", "Set the kubelet's cgroupDriver to systemd, too."),
        Step("restart_service", "Restart the runtime and the kubelet."),
    ),
    references=(
        "Kubernetes, Container Runtimes: cgroup drivers",
        "NVIDIA Container Toolkit, Troubleshooting: containers losing access to GPUs",
    ),
    confirm=(
        "containerd config dump | grep -n -i SystemdCgroup",
        "docker info --format '{{.CgroupDriver}}'",
        "crio status config | grep cgroup_manager",
    ),
)
def cgroup_driver(runtime: Runtime, choice: RuntimeChoice, services: Services) -> Findings:
    skip_unserving(runtime, choice)
    if runtime.key not in ("containerd", "crio", "k3s", "rke2"):
        skip(f"{runtime.key} chooses its cgroup driver itself")
    driver = need(runtime.cgroup_driver)
    if not any(unit.exists for unit in need(services.units)):
        skip("systemd does not manage this host")
    kubelets = kubelets_of(runtime, choice.launchers)
    if not kubelets:
        skip("no kubelet uses this runtime")
    if driver == "cgroupfs" and all(not isinstance(one.cgroup_driver, Unread) and one.cgroup_driver == driver for one in kubelets):
        skip("the kubelet uses cgroupfs, too: they agree")
    if driver != "systemd":
        what = 'cgroup_manager = "systemd"' if runtime.key == "crio" else "SystemdCgroup = true for runc and nvidia"
        steps = (
            Step("configure", f"Set {what} in the configuration of {runtime.key}."),
            *(Step("configure", f"Set cgroupDriver: systemd in the kubelet of {one.unit}.") for one in kubelets if _says_other(one)),
            restart(runtime),
            *(Step("restart_service", f"Restart {one.unit}.", shell("systemctl restart {}", one.unit)) for one in kubelets),
        )
        text = f"{runtime.key} uses the {driver} cgroup driver on a host that systemd manages"
        yield fail(text, code="not-systemd", found=driver, wanted="systemd", remedy=tuple(dict.fromkeys(steps)))


def _says_other(kubelet: Launcher) -> bool:
    driver = kubelet.cgroup_driver
    return not isinstance(driver, Unread) and driver not in ("", "systemd")
